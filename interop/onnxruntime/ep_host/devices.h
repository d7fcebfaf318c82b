// SPDX-License-Identifier: Apache-2.0
// The machine's devices as providers are told of them, and what they make of them. Any thread reads
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "objects/execution_provider.h"
#include "objects/key_values.h"

namespace gantry::ort {

/// OrtHardwareDeviceType.
enum class DeviceType : int { kCpu = 0, kGpu = 1, kNpu = 2 };

/// OrtHardwareDevice.
struct MachineDevice {
  DeviceType type = DeviceType::kCpu;
  uint32_t vendor_id = 0;  ///< of PCI; of a CPU the one that its vendor has there
  uint32_t device_id = 0;
  std::string vendor;
  KeyValues metadata;
};

/// OrtEpDevice: a device that a provider can use.
struct OfferedDevice {
  EpFactory* factory;
  const MachineDevice* device;
  KeyValues metadata;
  KeyValues options;
  std::string name;    ///< of the provider
  std::string vendor;  ///< likewise
  bool has_own_memory = false;
};

/// The CPU, then the graphics and neural devices that the kernel lists.
std::vector<std::unique_ptr<MachineDevice>> machine_devices();

/// "CPU", "GPU", "NPU".
const char* to_string(DeviceType type);

}  // namespace gantry::ort

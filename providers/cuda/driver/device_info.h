// SPDX-License-Identifier: Apache-2.0
// The CUDA devices of the machine, before any of them is opened. Pure but for what the driver says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/driver.h"

namespace gantry::cuda {

/// Properties of a device that is not opened.
struct DeviceInfo {
  DeviceNumber number = 0;  ///< the driver's ordinal
  uint32_t id = 0;          ///< N of CUDA:N, by PCI address
  std::string name;
  std::string pci;   ///< "0000:1b:00.0"
  std::string uuid;  ///< "GPU-6c1f5b2e-..."
  uint64_t memory_bytes = 0;
  int capability = 0;  ///< 10 * major + minor
  int multiprocessors = 0;
  uint64_t cache_bytes = 0;  ///< of the L2 cache
  /// Why the device cannot be used; empty: it can.
  std::string reason;
};

/// All devices, ordered by PCI address. Requires a usable driver. DEVICE_ERROR: the driver does not
/// report them.
std::vector<DeviceInfo> find_devices(const Driver& driver);

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// The memory spaces of a session: space 0 is host memory, each further one the memory of a device.
// Streams and events of a space are its owner's, the device's first provider. Immutable once the
// session is built.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gantry/device.h"
#include "plugin/provider.h"
#include "plugin/registry.h"
#include "schedule/memory_pool.h"

namespace gantry {

class DeviceTable {
 public:
  DeviceTable() : spaces_(1), devices_(1) {}

  /// Space of a device; opens it on first use. `providers` are those of the device, its owner
  /// first. 0 for devices in host memory.
  uint32_t space_of(const Device& device, const std::vector<DeviceProvider>& providers);
  [[nodiscard]] uint32_t space_count() const { return static_cast<uint32_t>(spaces_.size()); }
  [[nodiscard]] const MemorySpace& space(uint32_t index) const { return spaces_[index]; }
  [[nodiscard]] const Device& device(uint32_t space) const { return devices_[space]; }

 private:
  std::vector<MemorySpace> spaces_;
  std::vector<Device> devices_;
  std::vector<std::shared_ptr<PluginProvider>> owners_;
};

}  // namespace gantry

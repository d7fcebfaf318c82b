// SPDX-License-Identifier: Apache-2.0
// The memory spaces of a session: space 0 is host memory, every other space the memory of a device.
// The owner of a space, the device's first provider, makes its streams and events. Regions of host
// memory shared with worker processes are shared-memory regions of space 0. Immutable once the
// session is built.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gantry/device.h"
#include "memory/memory_space.h"
#include "plugin/provider.h"
#include "plugin/registry.h"

namespace gantry {

class DeviceTable {
 public:
  /// `budget`: of the session's memory; null: no limit.
  explicit DeviceTable(std::shared_ptr<MemoryBudget> budget = nullptr)
      : budget_(std::move(budget)),
        spaces_{{"host memory", nullptr, nullptr, nullptr, budget_}},
        devices_(1),
        can_capture_(1, 0) {}

  /// Space of a device; opens it on first use. `providers` are those of the device, its owner
  /// first. 0 for devices in host memory.
  uint32_t space_of(const Device& device, const std::vector<DeviceProvider>& providers);
  [[nodiscard]] uint32_t space_count() const { return static_cast<uint32_t>(spaces_.size()); }
  [[nodiscard]] const MemorySpace& space(uint32_t index) const { return spaces_[index]; }
  /// The number of the shared-memory region of `arena`, from 1; added on first use.
  uint32_t shared_region_of(const std::shared_ptr<SharedArena>& arena);
  [[nodiscard]] uint32_t shared_region_count() const {
    return static_cast<uint32_t>(shared_regions_.size());
  }
  /// `number`: from 1.
  [[nodiscard]] const MemorySpace& shared_region(uint32_t number) const {
    return shared_regions_[number - 1];
  }
  [[nodiscard]] const Device& device(uint32_t space) const { return devices_[space]; }
  /// True if the device supports captures (GANTRY_DEVICE_CAPTURE).
  [[nodiscard]] bool can_capture(uint32_t space) const { return can_capture_[space] != 0; }
  /// True if the first device's memory can be copied directly to the second's: both are of one
  /// provider that has peer copies.
  [[nodiscard]] bool can_copy_between(uint32_t from, uint32_t to) const;
  /// DEVICE_LOST if one of the devices is blocked, with the reason.
  void require_good() const;
  /// True if a device is hung: nothing may be called for it any more.
  [[nodiscard]] bool is_hung() const;

 private:
  std::shared_ptr<MemoryBudget> budget_;
  std::vector<MemorySpace> spaces_;
  std::vector<MemorySpace> shared_regions_;
  std::vector<Device> devices_;
  std::vector<uint8_t> can_capture_;
  std::vector<std::shared_ptr<PluginProvider>> owners_;
};

}  // namespace gantry

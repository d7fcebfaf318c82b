// SPDX-License-Identifier: Apache-2.0
#include "memory/device_table.h"

#include <algorithm>

namespace gantry {

uint32_t DeviceTable::space_of(const Device& device, const std::vector<DeviceProvider>& providers) {
  const DeviceProvider& owner = providers.front();
  if (owner.device().has_host_memory()) return 0;
  for (uint32_t i = 1; i < space_count(); ++i) {
    if (devices_[i] == device) return i;
  }
  gantry_device* opened = owner.provider->open_device(owner.device_index);
  spaces_.emplace_back(device.to_string(), &owner.provider->api(), opened,
                       owner.provider->health(owner.device_index), budget_);
  devices_.push_back(device);
  const gantry_provider_api& api = owner.provider->api();
  const bool has_slots =
      api.capture_begin && api.capture_end && api.capture_launch && api.capture_destroy;
  can_capture_.push_back(has_slots && (owner.device().flags & GANTRY_DEVICE_CAPTURE) ? 1 : 0);
  owners_.push_back(owner.provider);
  spaces_.back().peer_copies = owner.provider->peer_copies();
  spaces_.back().shared_memory = owner.provider->shared_memory();
  return space_count() - 1;
}

uint32_t DeviceTable::shared_region_of(const std::shared_ptr<SharedArena>& arena) {
  for (uint32_t number = 1; number <= shared_region_count(); ++number) {
    if (shared_region(number).shared() == arena) return number;
  }
  shared_regions_.emplace_back("memory shared with a worker process", arena, budget_);
  return shared_region_count();
}

bool DeviceTable::can_copy_between(uint32_t from, uint32_t to) const {
  return from != 0 && to != 0 && from != to && owners_[from - 1] == owners_[to - 1] &&
         owners_[to - 1]->peer_copies();
}

void DeviceTable::require_good() const {
  for (const MemorySpace& space : spaces_) space.require_good();
}

bool DeviceTable::is_hung() const {
  return std::any_of(spaces_.begin(), spaces_.end(),
                     [](const MemorySpace& space) { return space.is_hung(); });
}

}  // namespace gantry

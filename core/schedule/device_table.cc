// SPDX-License-Identifier: Apache-2.0
#include "schedule/device_table.h"

namespace gantry {

uint32_t DeviceTable::space_of(const Device& device, const std::vector<DeviceProvider>& providers) {
  const DeviceProvider& owner = providers.front();
  if (owner.device().has_host_memory()) return 0;
  for (uint32_t i = 1; i < space_count(); ++i) {
    if (devices_[i] == device) return i;
  }
  gantry_device* opened = owner.provider->open_device(owner.device_index);
  spaces_.push_back({&owner.provider->api(), opened});
  devices_.push_back(device);
  owners_.push_back(owner.provider);
  return space_count() - 1;
}

}  // namespace gantry

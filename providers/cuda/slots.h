// SPDX-License-Identifier: Apache-2.0
// The slots of the provider's table over a device's memory, streams, events and captures.
#pragma once

#include <gantry/provider.h>

namespace gantry::cuda {

/// All but device_open, which needs the provider.
void fill_device_slots(gantry_provider_api& api);
/// Streams, copies and events.
void fill_stream_slots(gantry_provider_api& api);
void fill_capture_slots(gantry_provider_api& api);
/// Of tensors that stand channels-last.
void fill_reorder_slot(gantry_provider_api& api);

}  // namespace gantry::cuda

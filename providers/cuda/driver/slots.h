// SPDX-License-Identifier: Apache-2.0
// Fills the entries of the provider's function table for memory, streams, events and captures. A
// gantry_device is a Device, a gantry_stream a Stream, a gantry_event an Event, a gantry_capture a
// CudaGraph.
#pragma once

#include <gantry/provider.h>

namespace gantry::cuda {

/// Device entries, all but device_open, which needs the provider.
void fill_device_slots(gantry_provider_api& api);
/// Streams, copies and events.
void fill_stream_slots(gantry_provider_api& api);
void fill_capture_slots(gantry_provider_api& api);

}  // namespace gantry::cuda

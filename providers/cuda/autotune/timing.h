// SPDX-License-Identifier: Apache-2.0
// Times candidate implementations on the device, for autotuning.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "driver/stream.h"

namespace gantry::cuda {

/// Time of one run of `enqueue` in milliseconds. `enqueue` adds work to the stream and returns a
/// status, 0 for success; a failure, immediate or on the device, counts as infinity. After a
/// warm-up run, each timed run is preceded by writes of as much memory as L2 holds, if that can be
/// allocated: a model's weights are not in L2 either, and the host gets ahead of the device, so
/// launches do not show. Waits for the device. Rethrows what `enqueue` throws.
float time_of(Stream& stream, const std::function<int()>& enqueue);

/// Logs, at level info, the index of the fastest candidate and all times in order. `what`: the
/// tuning key.
void log_times(const Device& device, const std::string& what, const std::vector<float>& times_ms);

}  // namespace gantry::cuda

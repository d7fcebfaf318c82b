// SPDX-License-Identifier: Apache-2.0
// How long a way of doing something, a library's or the provider's own, takes on the device at
// hand: by it the fastest of several is chosen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stream.h"

namespace gantry::cuda {

/// Milliseconds of a run of `enqueue`, which gives work to the stream and returns a status, 0 for
/// success; infinite: it fails, at once or on the device. One run before is not counted. Before
/// each that is, as much memory is written as the device's cache holds, if there is that much:
/// weights come from memory in a model's run too, and the host gets ahead of the device, so that no
/// launch is waited for. Waits for the device. What `enqueue` throws is passed on.
float time_of(Stream& stream, const std::function<int()>& enqueue);

/// Tells the log, as information, what was timed: the number of the fastest and all times, in the
/// order in which they were tried. `what` names what they all do.
void tell_times(const Device& device, const std::string& what, const std::vector<float>& times_ms);

}  // namespace gantry::cuda

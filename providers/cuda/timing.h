// SPDX-License-Identifier: Apache-2.0
// How long a library's way of doing something takes on the device at hand: by it the fastest of
// several is chosen.
#pragma once

#include <functional>

#include "stream.h"

namespace gantry::cuda {

/// Milliseconds of a few runs of `enqueue`, which gives work to the stream and returns the
/// library's status, 0 for success; infinite: it fails, at once or on the device. One run before is
/// not counted. Waits for the device.
float time_of(Stream& stream, const std::function<int()>& enqueue);

}  // namespace gantry::cuda

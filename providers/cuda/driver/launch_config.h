// SPDX-License-Identifier: Apache-2.0
// Launch configuration of cuLaunchKernelEx, in the driver's binary interface.
#pragma once

#include <array>
#include <cstddef>

#include "driver/handles.h"

namespace gantry::cuda {

/// CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: the kernel may start before the preceding
/// kernel of the stream has ended, and waits for it itself.
constexpr int kProgrammaticStreamSerialization = 6;

struct LaunchAttribute {
  int id = 0;
  int padding = 0;
  std::array<int, 16> value{};  // this attribute uses the first
};

struct LaunchConfig {
  unsigned blocks = 1, blocks_y = 1, blocks_z = 1;
  unsigned threads = 1, threads_y = 1, threads_z = 1;
  unsigned shared_bytes = 0;
  StreamHandle stream = nullptr;
  const LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

}  // namespace gantry::cuda

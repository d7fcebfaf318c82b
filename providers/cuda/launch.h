// SPDX-License-Identifier: Apache-2.0
// How a kernel is launched, as the driver's binary interface has it.
#pragma once

#include <array>
#include <cstddef>

#include "driver.h"

namespace gantry::cuda {

/// The kernel's blocks may be there before the kernel before it in the stream has ended; it waits
/// for that itself. The number is the driver's.
constexpr int kMayBeginEarly = 6;

struct LaunchAttribute {
  int id = 0;
  int padding = 0;
  std::array<int, 16> value{};  // of which this attribute has one
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

// SPDX-License-Identifier: Apache-2.0
// Code that the int8 element-wise kernels share: a source in the memory order of the result, and
// the bounds of an epilogue.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "fuse/kernels.h"

namespace gantry::x86 {

/// Elements of a kernel of one operation that justify a thread.
constexpr int64_t kInt8Grain = 1 << 13;

/// An int8 source of any rank.
struct Int8Source {
  int slot = 0;
  bool is_formatted = false;  ///< it is channels-last, of rank 3 to 5

  Int8Source() = default;
  Int8Source(const KernelArgs& args, uint32_t value);

  /// Its elements, channels-last if `is_wanted_formatted`, else in dense order: the tensor itself
  /// or, reordered, scratch memory of the call.
  const uint8_t* in_order(sdk::Call& call, bool is_wanted_formatted) const;
};

/// Bounds that an epilogue of Relu and Clip puts on its results.
struct Int8Bounds {
  float lowest = -std::numeric_limits<float>::infinity();
  float highest = std::numeric_limits<float>::infinity();
};
/// Nothing if the epilogue has any other step.
std::optional<Int8Bounds> int8_bounds_of(const Epilogue& epilogue);

/// BatchNormalization between int8 tensors, with an epilogue of Relu and Clip.
std::string int8_batch_norm_refusal(const GraphIndex& index, const Fusion& fusion);
Made make_int8_batch_norm(const KernelArgs& args);
/// Add, Sub, Sum or Mul of two int8 tensors, one of which may be broadcast to the other.
std::string int8_binary_refusal(const GraphIndex& index, const Fusion& fusion);
Made make_int8_binary(const KernelArgs& args);

}  // namespace gantry::x86

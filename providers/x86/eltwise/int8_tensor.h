// SPDX-License-Identifier: Apache-2.0
// What kernels that work on int8 tensors element by element have in common: a source in the
// order that the result is written in, and bounds of what is written.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "fuse/kernels.h"

namespace gantry::x86 {

/// A source of int8, of any rank; one that stands channels-last has a rank of 3 to 5.
struct Int8Source {
  int slot = 0;
  bool is_formatted = false;  ///< it stands channels-last

  Int8Source() = default;
  Int8Source(const KernelArgs& args, uint32_t value);

  /// Its numbers in dense order or, `is_wanted_formatted`, channels-last, where they stand or in
  /// scratch memory of the call.
  const uint8_t* in_order(sdk::Call& call, bool is_wanted_formatted) const;
};

/// Between what an epilogue of Relu and Clip leaves its results.
struct Int8Bounds {
  float lowest = -std::numeric_limits<float>::infinity();
  float highest = std::numeric_limits<float>::infinity();
};
/// Nothing: there is a step among them that is no bound.
std::optional<Int8Bounds> int8_bounds_of(const Epilogue& epilogue);

/// BatchNormalization between int8 values, with an epilogue that only bounds it.
std::string int8_batch_norm_refusal(const GraphIndex& index, const Fusion& fusion);
Made make_int8_batch_norm(const KernelArgs& args);
/// Add, Sub, Sum or Mul of two int8 tensors, of which one may be broadcast to the other.
std::string int8_binary_refusal(const GraphIndex& index, const Fusion& fusion);
Made make_int8_binary(const KernelArgs& args);

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// What kernels that work on tensors of 8 bits element by element have in common: a source in the
// order that the result is written in, and bounds of what is written.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/kernels.h"

namespace gantry::onednn {

/// A source of 8 bits, of any rank; one that stands channels-last has a rank of 3 to 5.
struct ByteSource {
  int slot = 0;
  bool is_formatted = false;  ///< it stands channels-last

  ByteSource() = default;
  ByteSource(const KernelArgs& args, uint32_t value);

  /// Its numbers in dense order or, `is_wanted_formatted`, channels-last, where they stand or in
  /// scratch memory of the call.
  const uint8_t* in_order(sdk::Call& call, bool is_wanted_formatted) const;
};

/// Between what a chain of Relu and Clip leaves its results.
struct ByteBounds {
  float lowest = -1e30F;
  float highest = 1e30F;
};
/// Nothing: there is a step among them that is no bound.
std::optional<ByteBounds> byte_bounds_of(const Chain& chain);

/// BatchNormalization between numbers of 8 bits, with a chain that only bounds it.
std::string byte_scaling_refusal(const GraphIndex& index, const Unit& unit);
std::unique_ptr<sdk::Kernel> make_byte_scaling(const KernelArgs& args);
/// Add, Sub, Sum or Mul of two tensors of 8 bits, of which one may be broadcast to the other.
std::string byte_pairs_refusal(const GraphIndex& index, const Unit& unit);
std::unique_ptr<sdk::Kernel> make_byte_pairs(const KernelArgs& args);

}  // namespace gantry::onednn

// SPDX-License-Identifier: Apache-2.0
// Host side of the kernels' index arithmetic: divisors for fast division, and shapes reduced to as
// few axes as possible. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/index.h"
#include "plan/types.h"

namespace gantry::cuda {

/// The multiplier and shift by which kernels divide numbers below 2^31. Requires 0 < divisor <
/// 2^31.
Divisor divisor_of(int64_t divisor);

/// An iteration space, and for each of some tensors its strides in that space.
struct Walk {
  Extents extents;
  std::vector<Extents> strides;

  /// Removes axes of extent 1 and merges adjacent axes where every tensor allows it. At least one
  /// axis remains. UNSUPPORTED: more than MOST_AXES remain.
  void simplify();
  [[nodiscard]] int rank() const { return static_cast<int>(extents.size()); }
  [[nodiscard]] int64_t count() const { return count_of(extents); }
  /// Whether element indices and offsets fit into 32 bits.
  [[nodiscard]] bool is_small() const;
  void write_extents(Divisor* out_divisors) const;
  void write_strides(size_t tensor, Offset* out_strides) const;
};

/// Kernel type of element indices: "u32" or "u64".
const char* index_type(bool is_small);

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// What the host fills in for kernels that walk tensors: divisors, and as few axes as will do. Pure
// functions.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/index.h"
#include "types.h"

namespace gantry::cuda {

/// Divides numbers below 2^31 as the kernels do it. Requires 0 < divisor < 2^31.
Divisor divisor_of(int64_t divisor);

/// A shape that is walked in order, and for each of some tensors the strides with which it is met
/// there.
struct Walk {
  Extents extents;
  std::vector<Extents> strides;

  /// Leaves out axes of extent 1 and joins those that every tensor walks as one. What is left has
  /// at least one axis. UNSUPPORTED: it has more than MOST_AXES.
  void simplify();
  [[nodiscard]] int rank() const { return static_cast<int>(extents.size()); }
  [[nodiscard]] int64_t count() const { return count_of(extents); }
  /// Whether numbers and offsets fit into 32 bits.
  [[nodiscard]] bool is_small() const;
  void write_extents(Divisor* out_divisors) const;
  void write_strides(size_t tensor, Offset* out_strides) const;
};

/// "u32" or "u64": what numbers of a walk's elements are held in.
const char* index_type(bool is_small);

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// A tensor as [outer, axis, inner], and the copy of a slice of that axis, as Concat and Split need
// it.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstddef>
#include <cstdint>

#include "strided_copy.h"

namespace gantry::cpu {

/// `outer` blocks of `extent` slices of `inner` units.
struct AxisView {
  int64_t outer;
  int64_t extent;
  int64_t inner;

  AxisView(sdk::Shape shape, int axis)
      : outer(shape.count(0, axis)),
        extent(shape[axis]),
        inner(shape.count(axis + 1, shape.rank)) {}
  /// Units of a block.
  [[nodiscard]] int64_t block() const { return extent * inner; }
};

/// Copies `outer` runs of `run` units; the runs' starts lie `source_block` and `target_block` units
/// apart.
inline void copy_blocks(sdk::Call& call, int64_t unit, int64_t outer, int64_t run,
                        const std::byte* source, int64_t source_block, std::byte* target,
                        int64_t target_block) {
  const int64_t extents[2] = {outer, run};
  const int64_t from[2] = {source_block, 1};
  const int64_t to[2] = {target_block, 1};
  copy_strided(call, unit, {extents, 2}, source, from, target, to);
}

}  // namespace gantry::cpu

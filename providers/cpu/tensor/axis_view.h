// SPDX-License-Identifier: Apache-2.0
// Views a tensor as [outer, axis, inner] and copies slices along that axis, as Concat and Split do.
// Offsets are in units (elements.h).
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstddef>
#include <cstdint>

#include "tensor/strided_copy.h"

namespace gantry::cpu {

/// A tensor as [outer, extent, inner], where `extent` is the extent of the chosen axis.
struct AxisView {
  int64_t outer;
  int64_t extent;
  int64_t inner;

  AxisView(sdk::Shape shape, int axis)
      : outer(shape.count(0, axis)),
        extent(shape[axis]),
        inner(shape.count(axis + 1, shape.rank)) {}
  /// Units between neighbouring indices of the outer axis.
  [[nodiscard]] int64_t block() const { return extent * inner; }
};

/// Copies `outer` runs of `run` units each, of `unit` bytes. Neighbouring runs start `source_block`
/// units apart in the source and `target_block` units apart in the target.
inline void copy_blocks(sdk::Call& call, int64_t unit, int64_t outer, int64_t run,
                        const std::byte* source, int64_t source_block, std::byte* target,
                        int64_t target_block) {
  const int64_t extents[2] = {outer, run};
  const int64_t from[2] = {source_block, 1};
  const int64_t to[2] = {target_block, 1};
  copy_strided(call, unit, {extents, 2}, source, from, target, to);
}

}  // namespace gantry::cpu

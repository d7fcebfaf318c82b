// SPDX-License-Identifier: Apache-2.0
// Reorders between dense and channels-last: each image's matrix, [channels, pixels] or [pixels,
// channels], is transposed. oneDNN's reorder takes some four nanoseconds for an element, many times
// as long as the memory needs. Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "onednn/library.h"

namespace gantry::x86 {

/// Consecutive dense matrices.
struct Matrices {
  int64_t count = 1;
  int64_t rows = 1;     ///< of the source
  int64_t columns = 1;  ///< of the source

  /// Number of blocks, the units of work, of all matrices.
  [[nodiscard]] int64_t blocks() const;
  /// Number of blocks that justify a thread.
  [[nodiscard]] int64_t grain() const;
};

/// The matrices whose transpose is the reorder from `from` to `to`. Nothing unless one is dense and
/// the other channels-last, both f32 of the same extents.
std::optional<Matrices> matrices_between(const Desc& from, const Desc& to);

/// Transposes blocks [first, last). `source`: [count, rows, columns]; `target`: [count, columns,
/// rows]. [any]
void transpose(const Matrices& matrices, const float* source, float* target, int64_t first,
               int64_t last);
void transpose(const Matrices& matrices, const uint8_t* source, uint8_t* target, int64_t first,
               int64_t last);

}  // namespace gantry::x86

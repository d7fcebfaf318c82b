// SPDX-License-Identifier: Apache-2.0
// From the dense order of a tensor to channels-last and back: for each image the matrix [channels,
// pixels] or [pixels, channels] is transposed. The library's own reorder takes some four
// nanoseconds for an element, many times as long as the memory does.
#pragma once

#include <cstdint>
#include <optional>

#include "onednn/library.h"

namespace gantry::x86 {

/// Dense matrices, one behind the other.
struct Matrices {
  int64_t count = 1;
  int64_t rows = 1;     ///< of the source
  int64_t columns = 1;  ///< of the source

  /// Parts of all of them in which work is divided.
  [[nodiscard]] int64_t blocks() const;
  /// Blocks that are worth a thread.
  [[nodiscard]] int64_t grain() const;
};

/// The matrices of which `from` and `to` are two orders; nothing: they are not dense and
/// channels-last f32 of the same extents, or the other way about.
std::optional<Matrices> matrices_between(const Desc& from, const Desc& to);

/// Blocks [first, last): `source` [count, rows, columns] to `target` [count, columns, rows]. [any]
void transpose(const Matrices& matrices, const float* source, float* target, int64_t first,
               int64_t last);
void transpose(const Matrices& matrices, const uint8_t* source, uint8_t* target, int64_t first,
               int64_t last);

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// Direct f32 convolutions of few channels with source and target in NCHW order, as a model's inputs
// and outputs are, so that nothing is reordered. Vectors run along a row of results. Written once
// with Highway for all instruction sets (simd/instructions.h). Pure functions, from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "conv/direct/code.h"

namespace gantry::x86 {

/// A convolution of one group. Arrays of two are [vertical, horizontal]; a 1-D convolution has one
/// row.
struct NchwWindow {
  int64_t channels = 0;  ///< of the source
  int64_t results = 0;   ///< channels of the target
  int64_t window[2] = {1, 1};
  int64_t strides[2] = {1, 1};
  int64_t dilations[2] = {1, 1};
  int64_t pads[2] = {0, 0};        ///< top, left
  int64_t source[2] = {1, 1};      ///< extents
  int64_t target[2] = {1, 1};      ///< extents
  const float* weights = nullptr;  ///< [blocks_of(results), channels, window, kChannelBlock]
  const float* bias = nullptr;     ///< [blocks_of(results), kChannelBlock]
  const std::vector<TileStep>* steps = nullptr;

  [[nodiscard]] int64_t inner() const { return channels * window[0] * window[1]; }
};

/// Source rows prepared for a strip of result rows: padded, and each row split into as many parts
/// as its stride, so that neighbouring results read neighbouring elements.
class NchwRows {
 public:
  explicit NchwRows(const NchwWindow& window);

  /// Result rows of a strip. What is prepared for them fits the L2 cache.
  [[nodiscard]] int64_t strip() const { return strip_; }
  /// Elements of the memory that prepare() writes.
  [[nodiscard]] int64_t elements() const { return rows_of(strip_) * window_.channels * row(); }
  /// Offsets of a result's operands from the first one, in elements: [inner].
  [[nodiscard]] const std::vector<int64_t>& offsets() const { return offsets_; }
  /// Elements from the operands of a result row to those of the next row.
  [[nodiscard]] int64_t step() const { return window_.strides[0] * row(); }

  /// Prepares result rows [first, first + count), count being at most strip(). `image`: [channels,
  /// source]; `rows`: elements() of memory.
  void prepare(const float* image, int64_t first, int64_t count, float* rows) const;

 private:
  [[nodiscard]] int64_t row() const { return window_.strides[1] * length_; }
  /// Rows of the source under `count` rows of results.
  [[nodiscard]] int64_t rows_of(int64_t count) const {
    return (count - 1) * window_.strides[0] + (window_.window[0] - 1) * window_.dilations[0] + 1;
  }
  void fill_row(const float* from, float* to) const;

  NchwWindow window_;
  int64_t length_;  // of a part of a row
  int64_t strip_;
  std::vector<int64_t> offsets_;
};

/// Computes one row of all channels of a block (kChannelBlock). `offsets`: of NchwRows; `numbers`:
/// the row's operands there; `target`: the row in the block's first channel; `addend`: as the
/// target, which it may be; null: none.
void convolve_nchw_row(const NchwWindow& window, const int64_t* offsets, int64_t block,
                       const float* numbers, const float* addend, float* target);

}  // namespace gantry::x86

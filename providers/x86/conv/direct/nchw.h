// SPDX-License-Identifier: Apache-2.0
// Convolutions of few channels in f32 whose tensors both stand channel by channel, as a model's
// inputs and outputs do. Vectors lie along a row of results, so that nothing is reordered. Written
// once with Highway for all instruction sets, as the rest of this folder. Pure functions, from any
// thread.
#pragma once

#include <cstdint>
#include <vector>

#include "conv/direct/code.h"

namespace gantry::x86 {

/// Two axes, rows and places in a row; a convolution along one axis has one row.
struct NchwWindow {
  int64_t channels = 0;
  int64_t results = 0;  ///< channels of the target
  int64_t window[2] = {1, 1};
  int64_t strides[2] = {1, 1};
  int64_t dilations[2] = {1, 1};
  int64_t pads[2] = {0, 0};  ///< before the first place
  int64_t source[2] = {1, 1};
  int64_t target[2] = {1, 1};
  const float* weights = nullptr;  ///< [blocks_of(results), channels, window, kChannelBlock]
  const float* bias = nullptr;     ///< [blocks_of(results), kChannelBlock]
  const std::vector<TileStep>* steps = nullptr;

  [[nodiscard]] int64_t inner() const { return channels * window[0] * window[1]; }
};

/// Rows of the source as the rows of results [first, first + count) need them: padded, and each in
/// as many parts as the stride, so that what neighbouring results multiply stands side by side.
class NchwRows {
 public:
  explicit NchwRows(const NchwWindow& window);

  /// Rows of results that are made of one preparation; they fit the second cache.
  [[nodiscard]] int64_t strip() const { return strip_; }
  /// Elements of memory for a strip.
  [[nodiscard]] int64_t elements() const { return rows_of(strip_) * window_.channels * row(); }
  /// Where each product's number stands, from that of the first one: [inner].
  [[nodiscard]] const std::vector<int64_t>& offsets() const { return offsets_; }
  /// From the numbers of a row of results to those of the next.
  [[nodiscard]] int64_t step() const { return window_.strides[0] * row(); }

  /// `image`: [channels, source].
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

/// One row of the results of a block of channels. `numbers`: the prepared ones of that row;
/// `addend` (null: there is none), `target`: the row in the block's first channel, which may be the
/// same.
void convolve_nchw_row(const NchwWindow& window, const int64_t* offsets, int64_t block,
                       const float* numbers, const float* addend, float* target);

}  // namespace gantry::x86

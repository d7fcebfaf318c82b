// SPDX-License-Identifier: Apache-2.0
// Runs instructions (code.h) over whole tensors, tile by tile in the memory order of the results.
// Operands may have any broadcast.
#pragma once

#include <gantry/sdk/kernel.h>

#include <array>
#include <cstdint>
#include <vector>

#include "eltwise/code.h"
#include "simd/axis_order.h"

namespace gantry::x86 {

constexpr int kMostAxes = 8;

/// An operand broadcast to the results: its axes in the results' memory order, innermost first,
/// with neighbours merged if one stride describes them. Borrows the data. Trivially copyable.
class TileOperand {
 public:
  TileOperand() = default;
  /// One element, without axes.
  explicit TileOperand(const float* data) : data_(data) {}

  /// Adds the next outer axis. `stride`: in elements; 0: broadcast.
  void add_axis(int64_t extent, int64_t stride);

  /// Number of result elements after which the operand's elements repeat; 0: they do not.
  [[nodiscard]] int64_t period() const { return period_; }
  /// Number of result elements that consist of repetitions of the same period.
  [[nodiscard]] int64_t repeated() const { return repeated_; }
  /// The operand's elements for results [begin, begin + count) if they are contiguous in memory;
  /// else null.
  [[nodiscard]] const float* contiguous(int64_t begin, int64_t count) const;
  /// Copies the operand's elements for results [begin, begin + count).
  void copy(int64_t begin, int64_t count, float* to) const;

 private:
  const float* data_ = nullptr;
  int axes_ = 0;
  int64_t period_ = 0;
  int64_t repeated_ = 0;
  std::array<int64_t, kMostAxes> extents_{};
  std::array<int64_t, kMostAxes> strides_{};
};

/// An operand of `shape` in memory order `order`, broadcast to results of shape `to` in
/// `result_order`. Requires that it broadcasts, and ranks up to kMostAxes.
TileOperand broadcast_operand(const float* data, const sdk::Shape& shape, AxisOrder order,
                              const sdk::Shape& to, AxisOrder result_order);

/// Arguments of run_tiles(). Slots of the instructions: operands, results, then `buffers`
/// temporaries.
struct TilePass {
  const std::vector<Instruction>& instructions;
  const TileOperand* operands;
  size_t operand_count;
  float* const* results;
  size_t result_count;
  size_t buffers;
  int64_t element_count;  ///< of each result
};

/// Runs it on the threads of the call, with scratch memory of the call.
void run_tiles(sdk::Call& call, const TilePass& pass);

}  // namespace gantry::x86

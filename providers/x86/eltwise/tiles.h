// SPDX-License-Identifier: Apache-2.0
// Runs instructions (code.h) over whole tensors: tile by tile of the results, in the order in which
// these stand in memory. Operands may be broadcast in any way, none of which needs code of its own.
#pragma once

#include <gantry/sdk/kernel.h>

#include <array>
#include <cstdint>
#include <vector>

#include "eltwise/code.h"
#include "simd/axis_order.h"

namespace gantry::x86 {

constexpr int kMostAxes = 8;

/// An operand as the results meet it: axes in the results' memory order, innermost first,
/// neighbouring axes that one stride describes being merged. Trivially copyable.
class TileOperand {
 public:
  TileOperand() = default;
  /// Without axes yet: one element.
  explicit TileOperand(const float* data) : data_(data) {}

  /// The next axis outwards. `stride`: in elements; 0: broadcast along it.
  void add_axis(int64_t extent, int64_t stride);

  /// Elements of the results after which the operand's elements are met again; 0: they are not.
  [[nodiscard]] int64_t period() const { return period_; }
  /// How many elements of the results repeat one period, before the operand goes on.
  [[nodiscard]] int64_t repeated() const { return repeated_; }
  /// Where elements [begin, begin + count) of the results meet neighbours in memory; null: they
  /// do not.
  [[nodiscard]] const float* contiguous(int64_t begin, int64_t count) const;
  /// What elements [begin, begin + count) of the results meet.
  void copy(int64_t begin, int64_t count, float* to) const;

 private:
  const float* data_ = nullptr;
  int axes_ = 0;
  int64_t period_ = 0;
  int64_t repeated_ = 0;
  std::array<int64_t, kMostAxes> extents_{};
  std::array<int64_t, kMostAxes> strides_{};
};

/// An operand of `shape`, which stands in `order`, broadcast to results of shape `to` in
/// `result_order`. Requires that it broadcasts, and ranks up to kMostAxes.
TileOperand broadcast_operand(const float* data, const sdk::Shape& shape, AxisOrder order,
                              const sdk::Shape& to, AxisOrder result_order);

/// What is run. Places of the instructions: operands, results, then `buffers` more.
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

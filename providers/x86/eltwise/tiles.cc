// SPDX-License-Identifier: Apache-2.0
#include "eltwise/tiles.h"

#include <algorithm>
#include <numeric>

namespace gantry::x86 {
namespace {

/// Calls body(axis) for the axes of a tensor from the innermost one out.
template <class Body>
void for_each_axis(int rank, AxisOrder order, Body&& body) {
  const bool is_channels_last = order == AxisOrder::kChannelsLast && rank > 2;
  if (is_channels_last) body(1);
  for (int axis = rank - 1; axis >= (is_channels_last ? 2 : 0); --axis) body(axis);
  if (is_channels_last) body(0);
}

/// Elements of a tile: whole periods of the operands if they fit, so that a broadcast operand is
/// the same in each tile and is copied once.
int64_t tile_of(const TilePass& pass) {
  int64_t step = kTileStep;
  for (size_t i = 0; i < pass.operand_count; ++i) {
    const int64_t period = pass.operands[i].period();
    if (period < 2 || period > kTileElements) continue;
    const int64_t common = std::lcm(step, period);
    if (common <= kTileElements) step = common;
  }
  const int64_t most = kTileElements / step * step;
  return std::min(most, (pass.element_count + kTileStep - 1) / kTileStep * kTileStep);
}

/// Memory of one thread: a tile for each slot.
class TilePart {
 public:
  TilePart(const TilePass& pass, int64_t tile, float* memory, float** slots, int64_t* filled)
      : pass_(pass), tile_(tile), memory_(memory), slots_(slots), filled_(filled) {
    const size_t count = pass.operand_count + pass.result_count + pass.buffers;
    for (size_t slot = 0; slot < count; ++slot) slots_[slot] = own(slot);
    std::fill_n(filled_, pass.operand_count, kNothing);
  }

  void run(int64_t first) const {
    const int64_t elements = std::min(tile_, pass_.element_count - first);
    const bool is_partial = elements % kTileStep != 0;  // whole steps exceed the tensors
    for (size_t i = 0; i < pass_.operand_count; ++i) place_operand(i, first, elements, is_partial);
    float** const results = slots_ + pass_.operand_count;
    for (size_t i = 0; i < pass_.result_count; ++i)
      results[i] = is_partial ? own(pass_.operand_count + i) : pass_.results[i] + first;
    run_instructions(pass_.instructions, slots_, elements);
    if (!is_partial) return;
    for (size_t i = 0; i < pass_.result_count; ++i)
      std::copy_n(results[i], elements, pass_.results[i] + first);
  }

 private:
  static constexpr int64_t kNothing = -1;

  [[nodiscard]] float* own(size_t slot) const {
    return memory_ + static_cast<int64_t>(slot) * tile_;
  }

  void place_operand(size_t i, int64_t first, int64_t elements, bool is_partial) const {
    const TileOperand& operand = pass_.operands[i];
    if (!is_partial) {
      if (const float* direct = operand.contiguous(first, elements)) {
        slots_[i] = const_cast<float*>(direct);  // no instruction writes to it
        filled_[i] = kNothing;
        return;
      }
    }
    slots_[i] = own(i);
    // The tile starts a period and is within one repetition.
    const int64_t period = operand.period();
    const bool repeats = period > 0 && first % period == 0 &&
                         first / operand.repeated() == (first + elements - 1) / operand.repeated();
    const int64_t repetition = repeats ? first / operand.repeated() : kNothing;
    if (repeats && filled_[i] == repetition) return;
    const int64_t count = repeats ? std::min(tile_, pass_.element_count - first) : elements;
    operand.copy(first, count, own(i));
    std::fill_n(own(i) + count, -count & (kTileStep - 1), 0.0F);
    filled_[i] = repeats && count == tile_ ? repetition : kNothing;
  }

  const TilePass& pass_;
  int64_t tile_;
  float* memory_;
  float** slots_;
  int64_t* filled_;  // by operand: the repetition that its own memory holds
};

int64_t part_count(const sdk::Call& call, const TilePass& pass, int64_t tile, int64_t tiles) {
  constexpr int64_t kElementsOfPart = 1 << 16;  // times instructions
  const int64_t all = tiles * tile * static_cast<int64_t>(pass.instructions.size());
  return std::clamp<int64_t>(all / kElementsOfPart, 1,
                             std::min<int64_t>(tiles, call.thread_count()));
}

}  // namespace

void TileOperand::add_axis(int64_t extent, int64_t stride) {
  if (extent == 1) return;
  const auto next = static_cast<size_t>(axes_);
  const bool is_same = next > 0 && stride == strides_[next - 1] * extents_[next - 1];
  // Neighbouring broadcast axes are merged too.
  if (is_same) {
    extents_[next - 1] *= extent;
  } else {
    extents_[next] = extent;
    strides_[next] = stride;
    ++axes_;
  }
  period_ = repeated_ = 0;
  int64_t elements = 1;
  for (size_t axis = 0; axis < static_cast<size_t>(axes_); ++axis) {
    if (strides_[axis] == 0) {
      period_ = elements;
      repeated_ = elements * extents_[axis];
      return;
    }
    elements *= extents_[axis];
  }
}

const float* TileOperand::contiguous(int64_t begin, int64_t count) const {
  if (axes_ == 0) return count == 1 ? data_ : nullptr;
  if (strides_[0] != 1) return nullptr;
  if (begin % extents_[0] + count > extents_[0]) return nullptr;
  const float* at = data_ + begin % extents_[0];
  int64_t rest = begin / extents_[0];
  for (size_t axis = 1; axis < static_cast<size_t>(axes_); ++axis) {
    at += rest % extents_[axis] * strides_[axis];
    rest /= extents_[axis];
  }
  return at;
}

void TileOperand::copy(int64_t begin, int64_t count, float* to) const {
  if (axes_ == 0) {
    std::fill_n(to, count, *data_);
    return;
  }
  std::array<int64_t, kMostAxes> at{};
  const float* row = data_;
  for (size_t axis = 0; axis < static_cast<size_t>(axes_); ++axis) {
    at[axis] = begin % extents_[axis];
    begin /= extents_[axis];
    if (axis > 0) row += at[axis] * strides_[axis];
  }
  while (count > 0) {
    const int64_t run = std::min(extents_[0] - at[0], count);
    const float* from = row + at[0] * strides_[0];
    if (strides_[0] == 1) {
      std::copy_n(from, run, to);
    } else if (strides_[0] == 0) {
      std::fill_n(to, run, *from);
    } else {
      for (int64_t i = 0; i < run; ++i) to[i] = from[i * strides_[0]];
    }
    to += run;
    count -= run;
    at[0] = 0;
    for (size_t axis = 1; axis < static_cast<size_t>(axes_); ++axis) {
      row += strides_[axis];
      if (++at[axis] < extents_[axis]) break;
      row -= strides_[axis] * extents_[axis];
      at[axis] = 0;
    }
  }
}

TileOperand broadcast_operand(const float* data, const sdk::Shape& shape, AxisOrder order,
                              const sdk::Shape& to, AxisOrder result_order) {
  std::array<int64_t, kMostAxes> strides{};  // by axis of the results
  int64_t stride = 1;
  for_each_axis(shape.rank, order, [&](int axis) {
    if (shape[axis] != 1) strides[static_cast<size_t>(axis + to.rank - shape.rank)] = stride;
    stride *= shape[axis];
  });
  TileOperand operand(data);
  for_each_axis(to.rank, result_order,
                [&](int axis) { operand.add_axis(to[axis], strides[static_cast<size_t>(axis)]); });
  return operand;
}

void run_tiles(sdk::Call& call, const TilePass& pass) {
  if (pass.element_count == 0) return;
  const int64_t tile = tile_of(pass);
  const int64_t tiles = (pass.element_count + tile - 1) / tile;
  const int64_t parts = part_count(call, pass, tile, tiles);
  const auto operands = static_cast<int64_t>(pass.operand_count);
  const int64_t slots = operands + static_cast<int64_t>(pass.result_count + pass.buffers);
  // The last tile's elements are rounded up to a step.
  auto* memory = call.scratch<float>(parts * slots * tile);
  auto* pointers = call.scratch<float*>(parts * slots);
  auto* filled = call.scratch<int64_t>(parts * operands);
  call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const TilePart own(pass, tile, memory + part * slots * tile, pointers + part * slots,
                         filled + part * operands);
      for (int64_t index = part * tiles / parts; index < (part + 1) * tiles / parts; ++index)
        own.run(index * tile);
    }
  });
}

}  // namespace gantry::x86

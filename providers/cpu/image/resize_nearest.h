// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample in mode nearest: copies elements of any type through one table of input
// offsets per axis.
#pragma once

#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "dims.h"
#include "image/resize_axis.h"

namespace gantry::cpu {

/// The axes of one run, of rank at most kMaxRank.
struct ResizePlan {
  int rank = 0;
  ResizeAxis axes[kMaxRank];

  [[nodiscard]] Dims output() const {
    Dims shape;
    for (int i = 0; i < rank; ++i) shape.push(axes[i].output);
    return shape;
  }
};

/// `plan` with neighbouring axes that are not resized merged into one.
inline ResizePlan merged(const ResizePlan& plan, Transform transform) {
  ResizePlan result;
  bool previous_is_identity = false;
  for (int i = 0; i < plan.rank; ++i) {
    const bool is_identity = plan.axes[i].is_identity(transform);
    if (is_identity && previous_is_identity) {
      result.axes[result.rank - 1].input *= plan.axes[i].input;
      result.axes[result.rank - 1].output *= plan.axes[i].output;
    } else {
      result.axes[result.rank++] = plan.axes[i];
    }
    previous_is_identity = is_identity;
  }
  if (result.rank == 0) result.rank = 1;
  return result;
}

/// Least number of bytes that one thread writes.
inline constexpr int64_t kResizeGrainBytes = 64 * 1024;
/// Table entry for an output position that takes the extrapolation value.
inline constexpr int64_t kOutside = -1;

/// Fills table[output] of one axis: the input offset of each output position, or kOutside. `stride`
/// is that of the axis in the input, in elements.
inline void set_nearest_table(const ResizeRule& rule, const ResizeAxis& axis, int64_t stride,
                              int64_t* table) {
  const bool is_identity = axis.is_identity(rule.transform);
  for (int64_t k = 0; k < axis.output; ++k) {
    const double coordinate =
        is_identity ? static_cast<double>(k) : source_coordinate(rule, axis, k);
    const int64_t source = is_identity ? k : nearest_source(rule, axis, coordinate);
    table[k] = !is_identity && is_extrapolated(rule, axis, coordinate) ? kOutside : source * stride;
  }
}

/// Writes the output row by row. U: the unit type of the elements (elements.h).
template <class U>
class NearestWalk {
 public:
  NearestWalk(sdk::Call& call, const ResizeRule& rule, const ResizePlan& plan, const U* source,
              U fill, U* target)
      : last_(plan.rank - 1),
        row_(plan.axes[last_].output),
        copies_rows_(plan.axes[last_].is_identity(rule.transform)),
        may_be_outside_(rule.transform == Transform::kCrop),
        shape_(plan.output()),
        source_(source),
        fill_(fill),
        target_(target) {
    Dims input;
    int64_t table_length = copies_rows_ ? -row_ : 0;
    for (int i = 0; i < plan.rank; ++i) {
      input.push(plan.axes[i].input);
      table_length += plan.axes[i].output;
    }
    const Dims strides = dense_strides(input.shape());
    auto* table = call.scratch<int64_t>(table_length);
    for (int i = 0; i < (copies_rows_ ? last_ : plan.rank); ++i) {
      set_nearest_table(rule, plan.axes[i], strides[i], table);
      tables_[i] = table;
      table += plan.axes[i].output;
    }
    is_doubled_ = !copies_rows_ && row_ == 2 * plan.axes[last_].input;
    for (int64_t k = 0; is_doubled_ && k < row_; ++k) is_doubled_ = tables_[last_][k] == k / 2;
  }

  void run(sdk::Call& call) const {
    const int64_t rows = shape_.shape().count(0, last_);
    const auto row_bytes = row_ * static_cast<int64_t>(sizeof(U));
    const int64_t grain = std::max<int64_t>(1, kResizeGrainBytes / row_bytes);
    call.parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
      constexpr int64_t kNone = -2;
      int64_t previous = kNone;
      for (int64_t i = begin; i < end; ++i) {
        U* out = target_ + i * row_;
        const int64_t offset = row_offset(i);
        if (offset == previous) {
          std::memcpy(out, out - row_, static_cast<size_t>(row_bytes));
        } else {
          write_row(offset, out);
        }
        previous = offset;
      }
    });
  }

 private:
  /// Offset of the input row that output row `row` copies, or kOutside.
  [[nodiscard]] int64_t row_offset(int64_t row) const {
    int64_t offset = 0;
    for (int axis = last_ - 1; axis >= 0; --axis) {
      const int64_t index = tables_[axis][row % shape_[axis]];
      row /= shape_[axis];
      if (index == kOutside) return kOutside;
      offset += index;
    }
    return offset;
  }

  void write_row(int64_t offset, U* out) const {
    if (offset == kOutside) {
      std::fill_n(out, row_, fill_);
      return;
    }
    const U* in = source_ + offset;
    if (copies_rows_) {
      std::memcpy(out, in, static_cast<size_t>(row_) * sizeof(U));
    } else if (is_doubled_) {
      for (int64_t k = 0; k < row_ / 2; ++k) out[2 * k] = out[2 * k + 1] = in[k];
    } else {
      const int64_t* table = tables_[last_];
      for (int64_t k = 0; k < row_; ++k) {
        out[k] = may_be_outside_ && table[k] == kOutside ? fill_ : in[table[k]];
      }
    }
  }

  int last_;
  int64_t row_;
  bool copies_rows_;
  bool may_be_outside_;
  bool is_doubled_ = false;
  Dims shape_;
  const U* source_;
  U fill_;
  U* target_;
  const int64_t* tables_[kMaxRank] = {};
};

/// Resizes `source`, of the plan's input extents, into `target`, of its output extents. `fill` is
/// the extrapolation value. Runs on the threads of the run.
template <class U>
void resize_nearest(sdk::Call& call, const ResizeRule& rule, const ResizePlan& plan,
                    const U* source, U fill, U* target) {
  NearestWalk<U>(call, rule, plan, source, fill, target).run(call);
}

}  // namespace gantry::cpu

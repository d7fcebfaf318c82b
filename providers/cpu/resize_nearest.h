// SPDX-License-Identifier: Apache-2.0
// Resizing in mode nearest: elements of any type are moved by one table per axis. Free functions
// that run in the calling kernel.
#pragma once

#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "dims.h"
#include "resize_axis.h"

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

/// Neighbouring axes that are not resized become one.
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

/// Bytes that one thread writes at least.
inline constexpr int64_t kResizeGrainBytes = 64 * 1024;
/// In a table of kNearest: no input position, the extrapolation value.
inline constexpr int64_t kOutside = -1;

/// Table of one axis: offset in the input of each output position, or kOutside.
inline void set_nearest_table(const ResizeRule& rule, const ResizeAxis& axis, int64_t stride,
                              int64_t* table) {
  const bool is_identity = axis.is_identity(rule.transform);
  for (int64_t k = 0; k < axis.output; ++k) {
    const float coordinate = is_identity ? static_cast<float>(k) : source_coordinate(rule, axis, k);
    const int64_t source = is_identity ? k : nearest_source(rule, axis, coordinate);
    table[k] = !is_identity && is_extrapolated(rule, axis, coordinate) ? kOutside : source * stride;
  }
}

template <class U>
void resize_nearest(sdk::Call& call, const ResizeRule& rule, const ResizePlan& plan,
                    const U* source, U fill, U* target) {
  Dims input;
  int64_t table_length = 0;
  for (int i = 0; i < plan.rank; ++i) {
    input.push(plan.axes[i].input);
    table_length += plan.axes[i].output;
  }
  const int last = plan.rank - 1;
  const int64_t row = plan.axes[last].output;
  const bool copies_rows = plan.axes[last].is_identity(rule.transform);
  if (copies_rows) table_length -= row;
  const Dims strides = dense_strides(input.shape());
  const int64_t* tables[kMaxRank];
  auto* table = call.scratch<int64_t>(table_length);
  for (int i = 0; i < (copies_rows ? last : plan.rank); ++i) {
    set_nearest_table(rule, plan.axes[i], strides[i], table);
    tables[i] = table;
    table += plan.axes[i].output;
  }
  const int64_t rows = plan.output().shape().count(0, last);
  const int64_t grain =
      std::max<int64_t>(1, kResizeGrainBytes / (row * static_cast<int64_t>(sizeof(U))));
  call.parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      U* out = target + i * row;
      int64_t offset = 0;
      bool is_outside = false;
      for (int64_t axis = last - 1, rest = i; axis >= 0; --axis) {
        const int64_t place = tables[axis][rest % plan.axes[axis].output];
        rest /= plan.axes[axis].output;
        is_outside |= place == kOutside;
        offset += place;
      }
      const U* in = source + offset;
      if (is_outside) {
        std::fill_n(out, row, fill);
      } else if (copies_rows) {
        std::memcpy(out, in, static_cast<size_t>(row) * sizeof(U));
      } else if (rule.transform == Transform::kCrop) {
        for (int64_t k = 0; k < row; ++k)
          out[k] = tables[last][k] == kOutside ? fill : in[tables[last][k]];
      } else {
        for (int64_t k = 0; k < row; ++k) out[k] = in[tables[last][k]];
      }
    }
  });
}

}  // namespace gantry::cpu

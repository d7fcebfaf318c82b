// SPDX-License-Identifier: Apache-2.0
// The rows of an output line are reduced column by column, with SIMD. Then the columns of each
// window are reduced, each of which holds its maximum and the index of it. Indices are row-major,
// so the smaller of two comes first.
#include "nn/pool_indices.h"

#include <algorithm>
#include <limits>

namespace gantry::cpu {
namespace {

/// True if a later element replaces the best so far: it is larger, or the first NaN.
bool replaces(float x, float best) {
  return (static_cast<int>(x > best) |
          (static_cast<int>(x != x) & static_cast<int>(best == best))) != 0;
}

void join_row(const float* __restrict x, int32_t first, int64_t count, float* __restrict values,
              int32_t* __restrict argmax) {
  for (int64_t i = 0; i < count; ++i) {
    const bool is_better = replaces(x[i], values[i]);
    values[i] = is_better ? x[i] : values[i];
    argmax[i] = is_better ? first + static_cast<int32_t>(i) : argmax[i];
  }
}

/// The same if either may come first.
bool replaces_anywhere(float x, int32_t x_index, float best, int32_t best_index) {
  const int are_equal =
      static_cast<int>(x == best) | (static_cast<int>(x != x) & static_cast<int>(best != best));
  return (static_cast<int>(replaces(x, best)) |
          (are_equal & static_cast<int>(x_index < best_index))) != 0;
}

int64_t column_major(const Windows2d& windows, int32_t index) {
  const int64_t row = index / windows.columns.input;
  return index % windows.columns.input * windows.rows.input + row;
}

}  // namespace

void find_line(const Windows2d& windows, const float* plane, int64_t line,
               const LineMaxima& scratch, float* y, int64_t* indices) {
  const WindowAxis& rows = windows.rows;
  const WindowAxis& columns = windows.columns;
  const int64_t begin = rows.first_tap(line);
  const int64_t end = rows.end_tap(line);
  for (int64_t k = begin; k < end; ++k) {
    const int64_t first = (rows.start(line) + k * rows.dilation) * columns.input;
    if (k > begin) {
      join_row(plane + first, static_cast<int32_t>(first), columns.input, scratch.values,
               scratch.argmax);
      continue;
    }
    std::copy_n(plane + first, columns.input, scratch.values);
    for (int64_t i = 0; i < columns.input; ++i) scratch.argmax[i] = static_cast<int32_t>(first + i);
  }
  for (int64_t o = 0; o < columns.output; ++o) {
    const int64_t first = columns.first_tap(o);
    const int64_t last = columns.end_tap(o);
    if (begin >= end || first >= last) {
      y[o] = -std::numeric_limits<float>::infinity();
      indices[o] = 0;
      continue;
    }
    int64_t at = columns.start(o) + first * columns.dilation;
    float best = scratch.values[at];
    int32_t index = scratch.argmax[at];
    for (int64_t k = first + 1; k < last; ++k) {
      at += columns.dilation;
      const bool is_better = replaces_anywhere(scratch.values[at], scratch.argmax[at], best, index);
      best = is_better ? scratch.values[at] : best;
      index = is_better ? scratch.argmax[at] : index;
    }
    y[o] = best;
    indices[o] = windows.is_column_major ? column_major(windows, index) : index;
  }
}

}  // namespace gantry::cpu

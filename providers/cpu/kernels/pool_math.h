// SPDX-License-Identifier: Apache-2.0
// Windows over planes of f32, in vectors. Chosen for the machine's instruction set when first
// called. Pure, any thread; outputs must not overlap inputs.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// Elements that the longest vector of any machine has at most.
inline constexpr int64_t kPoolSlack = 64;

/// Lines of outputs that are worked on together.
inline constexpr int64_t kPoolLines = 8;

/// How the elements of a window become one number: the largest (NaN if one is), the mean, or the
/// root of the sum of the squares.
enum class Joining { kLargest, kMean, kRootOfSquares };

/// The windows of a plane, which is a list of rows. A line of outputs joins the same rows in all
/// its windows; window o of it begins `pad` columns before column o * stride.
struct PlaneWindows {
  const int64_t* rows;         ///< offsets in the plane of the rows of all lines, line by line
  const int64_t* row_ends;     ///< where the rows of each line end in `rows`
  const float* row_counts;     ///< kMean: rows that each line counts
  const float* column_counts;  ///< kMean: columns that each window of a line counts
  int64_t lines;               ///< of outputs
  int64_t columns;             ///< of outputs in a line
  int64_t width;               ///< of a row
  int64_t pad;
  int64_t taps;  ///< of a window along the row
  int64_t stride;
  int64_t dilation;

  /// Columns from the first that the first window sees to behind the last that the last one sees.
  [[nodiscard]] int64_t reach() const { return (columns - 1) * stride + (taps - 1) * dilation + 1; }
};

/// Elements of scratch memory that join_windows wants.
int64_t joining_scratch(const PlaneWindows& windows);

/// y[l, o] for the lines [first, last) of all planes of x, which are `plane` elements apart; line l
/// is line l % lines of plane l / lines. `x_end` is the end of x; `y` is where line 0 would go.
void join_windows(Joining joining, const PlaneWindows& windows, const float* x, const float* x_end,
                  int64_t plane, int64_t first, int64_t last, float* scratch, float* y);

}  // namespace gantry::cpu::simd

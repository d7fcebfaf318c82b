// SPDX-License-Identifier: Apache-2.0
// Pooling windows over planes of f32, with SIMD. Highway selects the instruction set on the first
// call. Pure, any thread; outputs must not overlap inputs.
#pragma once

#include <cstdint>

namespace gantry::cpu::simd {

/// Elements that a vector of any machine has at most.
inline constexpr int64_t kPoolSlack = 64;

/// Output lines that are computed together.
inline constexpr int64_t kPoolLines = 8;

/// Reduction over a window: the largest element (NaN if one is NaN), the mean, or the square root
/// of the sum of squares.
enum class Reduction { kLargest, kMean, kRootOfSquares };

/// The windows of a plane, whose rows lie along its last axis. All windows of an output line reduce
/// the same input rows; window o begins at column o * stride - pad.
struct PlaneWindows {
  const int64_t* rows;         ///< offsets in the plane of the input rows, line by line
  const int64_t* row_ends;     ///< where the rows of each line end in `rows`
  const float* row_counts;     ///< [lines]: divisor of each line (used by kMean)
  const float* column_counts;  ///< [columns + kPoolSlack]: divisor of each window (kMean)
  int64_t lines;               ///< output lines of a plane
  int64_t columns;             ///< outputs of a line
  int64_t width;               ///< elements of an input row
  int64_t pad;
  int64_t taps;  ///< kernel extent along the row
  int64_t stride;
  int64_t dilation;

  /// Columns from the start of the first window to the end of the last.
  [[nodiscard]] int64_t reach() const { return (columns - 1) * stride + (taps - 1) * dilation + 1; }
};

/// Elements of scratch memory that one call of reduce_windows() needs.
int64_t joining_scratch(const PlaneWindows& windows);

/// Computes y[l, o] for the output lines l in [first, last) of all planes; line l is line l % lines
/// of plane l / lines. Planes of x are `plane` elements apart. `x_end` is the end of x. `y` is the
/// whole output, [planes * lines, columns].
void reduce_windows(Reduction reduction, const PlaneWindows& windows, const float* x,
                    const float* x_end, int64_t plane, int64_t first, int64_t last, float* scratch,
                    float* y);

}  // namespace gantry::cpu::simd

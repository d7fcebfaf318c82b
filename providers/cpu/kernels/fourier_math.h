// SPDX-License-Identifier: Apache-2.0
// The inner loops of Fourier transforms, in vectors. Complex numbers lie in two arrays, their real
// and their imaginary parts. Chosen for the machine's instruction set when first called. Pure, any
// thread; outputs must not overlap inputs unless it says so.
#pragma once

#include <cstdint>
#include <type_traits>

namespace gantry::cpu::simd {

/// Rows of a pass that are shorter are read through tables: no vector is longer.
inline constexpr int64_t kLongRow = 16;

/// One pass of a forward transform that sorts itself. It reads x[k][j][i] and writes y[j][k][i], k
/// below `before`, j below `radix`, i below `after`.
template <class R>
struct FourierPass {
  using Offset = std::conditional_t<sizeof(R) == 4, int32_t, int64_t>;

  int64_t radix;  ///< 2, 3, 4, 5 or 7
  int64_t before;
  int64_t after;
  /// Of results j = 1 and up: (j - 1) * pitch + i is what number i of row j is multiplied by. Null:
  /// nothing, as `after` is 1.
  const R* roots_re;
  const R* roots_im;
  int64_t pitch;
  /// If `after` < kLongRow: numbers that lie side by side in y[j] are t = k * after + i, and of
  /// `period` of them x[k][0][i] lies at offsets[t], x[k][j][i] at j * after behind it; roots too
  /// go by t then. Both tables go kLongRow beyond the period. 0: rows are read as they lie.
  int64_t period;
  const Offset* offsets;
  /// cos and sin of 2 pi i / radix, i below the radix, of odd ones.
  const R* cosines;
  const R* sines;
};

/// y[i] = x[2i] + i x[2i + 1]
void split(const float* x, int64_t count, float* re, float* im);
void split(const double* x, int64_t count, double* re, double* im);
/// The reverse, times `scale`.
void join(const float* re, const float* im, float scale, int64_t count, float* y);
void join(const double* re, const double* im, double scale, int64_t count, double* y);

void run_pass(const FourierPass<float>& pass, const float* x_re, const float* x_im, float* y_re,
              float* y_im);
void run_pass(const FourierPass<double>& pass, const double* x_re, const double* x_im, double* y_re,
              double* y_im);

/// y[i] = a[i] b[i]; y may be a.
void multiply(int64_t count, const float* a_re, const float* a_im, const float* b_re,
              const float* b_im, float* y_re, float* y_im);
void multiply(int64_t count, const double* a_re, const double* a_im, const double* b_re,
              const double* b_im, double* y_re, double* y_im);

/// From z, the transform of the `half` numbers x[2i] + i x[2i + 1], and z[half] = z[0], to the
/// first half + 1 numbers of the transform of x, in pairs. roots[k] = exp(-2 pi i k / (2 half)).
void untangle(int64_t half, const float* z_re, const float* z_im, const float* roots_re,
              const float* roots_im, float* y);
void untangle(int64_t half, const double* z_re, const double* z_im, const double* roots_re,
              const double* roots_im, double* y);
/// The reverse: from half + 1 numbers of a spectrum, the first and the last of them real, to `half`
/// whose transform in the other direction is x[2i] + i x[2i + 1], times 2 half.
void tangle(int64_t half, const float* x_re, const float* x_im, const float* roots_re,
            const float* roots_im, float* z_re, float* z_im);
void tangle(int64_t half, const double* x_re, const double* x_im, const double* roots_re,
            const double* roots_im, double* z_re, double* z_im);

}  // namespace gantry::cpu::simd

// SPDX-License-Identifier: Apache-2.0
// The inner loops of Fourier transforms, with SIMD. Complex numbers are two arrays, the real and
// the imaginary parts. Highway selects the instruction set on the first call. Pure, any thread;
// outputs must not overlap inputs unless stated.
#pragma once

#include <cstdint>
#include <type_traits>

namespace gantry::cpu::simd {

/// Rows of a pass shorter than this are gathered through an offset table. No vector is longer.
inline constexpr int64_t kLongRow = 16;

/// One Stockham pass of a forward transform. It reads x[k][j][i] and writes y[j][k][i], for k in
/// [0, before), j in [0, radix), i in [0, after).
template <class R>
struct FourierPass {
  using Offset = std::conditional_t<sizeof(R) == 4, int32_t, int64_t>;

  int64_t radix;  ///< 2, 3, 4, 5 or 7
  int64_t before;
  int64_t after;
  /// Twiddle factors: element i of row j >= 1 is multiplied by entry (j - 1) * pitch + i. Null if
  /// `after` is 1: no factors.
  const R* roots_re;
  const R* roots_im;
  int64_t pitch;
  /// If not 0, rows are shorter than kLongRow and gathered: for t = k * after + i in [0, period),
  /// x[k][j][i] is at offsets[t] + j * after, and the twiddle factors are indexed by t instead of
  /// i. Both tables extend kLongRow entries beyond the period. 0: rows are read contiguously.
  int64_t period;
  const Offset* offsets;
  /// cos and sin of 2 pi i / radix for i in [0, radix); used by odd radices.
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

/// Last step of a real transform: from z, the transform of the `half` complex numbers x[2k] + i
/// x[2k + 1] with z[half] = z[0], computes the first half + 1 values of the transform of x,
/// interleaved (re, im). roots[k] = exp(-2 pi i k / (2 half)).
void real_fft_post(int64_t half, const float* z_re, const float* z_im, const float* roots_re,
                   const float* roots_im, float* y);
void real_fft_post(int64_t half, const double* z_re, const double* z_im, const double* roots_re,
                   const double* roots_im, double* y);
/// First step of an inverse real transform: from half + 1 values of a spectrum, of which the first
/// and the last are real, computes `half` values whose unscaled inverse transform is 2 half times
/// x[2k] + i x[2k + 1].
void inverse_real_fft_pre(int64_t half, const float* x_re, const float* x_im, const float* roots_re,
                          const float* roots_im, float* z_re, float* z_im);
void inverse_real_fft_pre(int64_t half, const double* x_re, const double* x_im,
                          const double* roots_re, const double* roots_im, double* z_re,
                          double* z_im);

}  // namespace gantry::cpu::simd

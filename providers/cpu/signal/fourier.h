// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform of any length: Stockham passes of radix 4, 2, 3, 5 and 7 for
// lengths of those factors, Bluestein's algorithm for others. Immutable, any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "signal/fourier_math.h"

namespace gantry::cpu {

/// True if `length` has no prime factor above 7, so that Stockham passes suffice. Use double for
/// other lengths: Bluestein's convolution adds rounding error.
bool is_smooth_length(int64_t length);

/// Complex numbers as two arrays, the real and the imaginary parts.
template <class R>
struct Split {
  R* re;
  R* im;
  /// Real and imaginary parts exchanged. The forward transform of exchanged input is the inverse
  /// transform with exchanged output.
  [[nodiscard]] Split exchanged() const { return {im, re}; }
};

/// Roots of unity exp(-2 pi i k / length) for k in [0, count), computed in double and rounded to R;
/// exact at multiples of length / 4.
template <class R>
struct Roots {
  Roots() = default;
  Roots(int64_t length, int64_t count);
  std::vector<R> re;
  std::vector<R> im;
};

/// A transform of one length, planned by the constructor. R: float or double.
template <class R>
class Fourier {
 public:
  /// Plans the transform of `length` complex numbers. Requires length >= 1.
  explicit Fourier(int64_t length);

  /// Distance between two arrays of `count` elements in one block of memory. Never a multiple of a
  /// page: arrays a page apart would compete for the same cache sets.
  static int64_t pitch(int64_t count) { return (count + 31) / 16 * 16; }
  /// Elements of R that run() needs as `work`.
  [[nodiscard]] int64_t work_size() const { return forward_ ? 4 * pitch(kernel_length_) : 0; }
  /// Forward transform of x, without scaling. x, y: [length]; work: [work_size()]. Returns x or y,
  /// whichever holds the result; the other is overwritten.
  Split<R> run(Split<R> x, Split<R> y, R* work) const;

 private:
  /// A pass and the tables that it reads.
  struct Pass {
    simd::FourierPass<R> plan;
    std::vector<R> roots_re;
    std::vector<R> roots_im;
    std::vector<typename simd::FourierPass<R>::Offset> offsets;
    Roots<R> twiddles;
  };

  void plan_passes();
  void add_pass(int64_t radix, int64_t before);
  void plan_convolution();
  Split<R> run_convolution(Split<R> x, Split<R> y, R* work) const;

  int64_t length_;
  std::vector<std::unique_ptr<Pass>> passes_;
  std::unique_ptr<Fourier> forward_;  ///< of the padded length; null: smooth length
  int64_t kernel_length_ = 0;
  Roots<R> chirp_;
  Roots<R> kernel_;  ///< spectrum of the conjugate chirp, of the padded length
};

}  // namespace gantry::cpu

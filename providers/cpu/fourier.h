// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform of any length: Stockham passes of radix 4, 2, 3, 5 and 7 for
// lengths of those factors, Bluestein's algorithm for others. Immutable, any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/fourier_math.h"

namespace gantry::cpu {

/// True if the passes alone transform this length. Others are best computed in double: the
/// convolution adds to the rounding.
bool is_smooth_length(int64_t length);

/// Complex numbers in two arrays.
template <class R>
struct Split {
  R* re;
  R* im;
  /// With both parts exchanged; the transform of that is the inverse transform, exchanged.
  [[nodiscard]] Split exchanged() const { return {im, re}; }
};

/// exp(-2 pi i k / length) for k in [0, count), exact at the quarters. Rounded to R.
template <class R>
struct Roots {
  Roots() = default;
  Roots(int64_t length, int64_t count);
  std::vector<R> re;
  std::vector<R> im;
};

/// R: float or double.
template <class R>
class Fourier {
 public:
  /// Of `length` >= 1 numbers.
  explicit Fourier(int64_t length);

  /// Distance between two arrays of `count` elements in one block of memory. Not a multiple of a
  /// page, which would map both to the same cache sets.
  static int64_t pitch(int64_t count) { return (count + 31) / 16 * 16; }
  /// Elements of working memory that run() needs.
  [[nodiscard]] int64_t work_size() const { return forward_ ? 4 * pitch(kernel_length_) : 0; }
  /// Transforms x: [length]; y: [length], work: [work_size()]. Returns x or y, whichever holds the
  /// result; the other is overwritten.
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
  std::unique_ptr<Fourier> forward_;  ///< of the padded length; null: there is no convolution
  int64_t kernel_length_ = 0;
  Roots<R> chirp_;
  Roots<R> kernel_;  ///< transform of the chirp that is convolved with, over the padded length
};

}  // namespace gantry::cpu

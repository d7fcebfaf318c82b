// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform of any length. Lengths of factors 2, 3 and 5 are transformed by
// passes of radix 4, 2, 3 and 5 that sort themselves (Stockham); others by Bluestein's convolution
// over such a length. Immutable, any thread.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace gantry::cpu {

/// True if the passes alone transform this length. Others are best computed in double: the
/// convolution adds to the rounding.
bool is_smooth_length(int64_t length);

/// R: float or double.
template <class R>
class Fourier {
 public:
  using Complex = std::complex<R>;

  /// Of `length` >= 1 numbers. The inverse is not divided by the length.
  Fourier(int64_t length, bool inverse);

  /// Numbers of working memory that run() needs.
  [[nodiscard]] int64_t work_size() const { return work_; }
  /// y = transform of x; both have `length` numbers, x is destroyed. The memory must not overlap.
  void run(Complex* x, Complex* y, Complex* work) const;

 private:
  struct Pass {
    int64_t radix;
    int64_t before;   ///< product of the radices of the passes before
    int64_t after;    ///< of those to come
    size_t twiddles;  ///< first of (radix - 1) * after
  };

  void plan_passes();
  void plan_convolution();
  void run_convolution(const Complex* x, Complex* y, Complex* work) const;
  void pass2(const Pass& pass, const Complex* x, Complex* y) const;
  void pass3(const Pass& pass, const Complex* x, Complex* y) const;
  void pass4(const Pass& pass, const Complex* x, Complex* y) const;
  void pass5(const Pass& pass, const Complex* x, Complex* y) const;

  int64_t length_;
  R sign_;  ///< of the angles
  int64_t work_ = 0;
  std::vector<Pass> passes_;
  std::vector<Complex> twiddles_;
  std::unique_ptr<Fourier> forward_;  ///< of the padded length; null: there is no convolution
  std::unique_ptr<Fourier> backward_;
  std::vector<Complex> chirp_;
  std::vector<Complex> kernel_;  ///< transform of the chirp that is convolved with
};

}  // namespace gantry::cpu

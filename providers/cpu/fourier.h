// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform of any length, in f64: KissFFT for lengths of factors 2, 3 and 5,
// Bluestein's convolution by a longer such transform for all others. Immutable, any thread.
#pragma once

#include <complex>
#include <cstdint>
#include <kissfft/kissfft.hh>
#include <optional>
#include <vector>

namespace gantry::cpu {

class Fourier {
 public:
  using Complex = std::complex<double>;

  /// Of `length` >= 1 numbers. The inverse is not divided by the length.
  Fourier(int64_t length, bool inverse);

  /// Numbers of working memory that run() needs.
  [[nodiscard]] int64_t work_size() const { return 2 * padded_; }
  /// y = transform of x; both have `length` numbers and do not overlap.
  void run(const Complex* x, Complex* y, Complex* work) const;

 private:
  int64_t length_;
  int64_t padded_ = 0;  ///< length of the transforms of the convolution; 0: there is none
  std::optional<kissfft<double>> forward_;
  std::optional<kissfft<double>> backward_;
  std::vector<Complex> chirp_;
  std::vector<Complex> kernel_;  ///< transform of the chirp that is convolved with
};

}  // namespace gantry::cpu

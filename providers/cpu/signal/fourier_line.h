// SPDX-License-Identifier: Apache-2.0
// The Fourier transform of one line for DFT and STFT: real or complex, forward or inverse, onesided
// or with the whole spectrum. Immutable, any thread.
#pragma once

#include <cstdint>

#include "signal/fourier.h"

namespace gantry::cpu {

/// Parameters of a transform. `is_onesided`: only the first points / 2 + 1 values of a real
/// signal's spectrum are written, or with `is_inverse` read.
struct FourierShape {
  int64_t points;  ///< of the signal
  int64_t parts;   ///< 1: the input is real, 2: complex
  bool is_inverse;
  bool is_onesided;

  bool operator==(const FourierShape&) const = default;
  [[nodiscard]] int64_t spectrum() const { return is_onesided ? points / 2 + 1 : points; }
  [[nodiscard]] bool returns_real() const { return is_onesided && is_inverse; }
  /// Elements of R of an input line and of an output line; a complex number counts as two.
  [[nodiscard]] int64_t input_size() const {
    return returns_real() ? 2 * spectrum() : points * parts;
  }
  [[nodiscard]] int64_t output_size() const { return returns_real() ? points : 2 * spectrum(); }
};

/// A planned transform of one line. R: float or double.
template <class R>
class FourierLine {
 public:
  /// Requires at least one point; complex input for a onesided inverse, real for a onesided forward
  /// transform.
  explicit FourierLine(const FourierShape& shape);

  [[nodiscard]] const FourierShape& shape() const { return shape_; }
  /// Elements of R that run() needs as `work`.
  [[nodiscard]] int64_t work_size() const {
    return 4 * Fourier<R>::pitch(length() + 1) + plan_.work_size();
  }
  /// y = the transform of x. The inverse transform is divided by the number of points. Complex
  /// numbers are interleaved (re, im). x: [input_size()]; y: [output_size()]; work: [work_size()].
  /// No overlap.
  void run(const R* x, R* y, R* work) const;

 private:
  /// True for real signals of even length: a pair of points is transformed as one complex number.
  [[nodiscard]] bool is_halved() const {
    return shape_.points % 2 == 0 && (shape_.parts == 1 ? !shape_.is_inverse : returns_real());
  }
  [[nodiscard]] bool returns_real() const { return shape_.returns_real(); }
  /// Length of the complex transform that run() computes.
  [[nodiscard]] int64_t length() const { return is_halved() ? shape_.points / 2 : shape_.points; }
  void run_halved(const R* x, R* y, Split<R> first, Split<R> second, R* work) const;
  void run_halved_back(const R* x, R* y, Split<R> first, Split<R> second, R* work) const;
  void load(const R* x, Split<R> target) const;

  FourierShape shape_;
  Fourier<R> plan_;
  Roots<R> roots_;  ///< twiddle factors between even and odd elements, if halved
};

}  // namespace gantry::cpu

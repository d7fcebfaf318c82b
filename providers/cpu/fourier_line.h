// SPDX-License-Identifier: Apache-2.0
// The Fourier transform of one line for DFT and STFT: real or complex, forward or inverse, onesided
// or with the whole spectrum. Immutable, any thread.
#pragma once

#include <cstdint>

#include "fourier.h"

namespace gantry::cpu {

/// What is transformed. `is_onesided`: of a real signal's spectrum the first points / 2 + 1 numbers
/// are made, or (`is_inverse`) given.
struct FourierShape {
  int64_t points;
  int64_t parts;  ///< 1: the input is real, 2: complex
  bool is_inverse;
  bool is_onesided;

  bool operator==(const FourierShape&) const = default;
  [[nodiscard]] int64_t spectrum() const { return is_onesided ? points / 2 + 1 : points; }
  [[nodiscard]] bool returns_real() const { return is_onesided && is_inverse; }
  /// Elements of R of an input line, and of an output line.
  [[nodiscard]] int64_t input_size() const {
    return returns_real() ? 2 * spectrum() : points * parts;
  }
  [[nodiscard]] int64_t output_size() const { return returns_real() ? points : 2 * spectrum(); }
};

/// R: float or double.
template <class R>
class FourierLine {
 public:
  /// Requires at least one point; complex input for a onesided inverse, real for a onesided forward
  /// transform.
  explicit FourierLine(const FourierShape& shape);

  [[nodiscard]] const FourierShape& shape() const { return shape_; }
  /// Elements of working memory that run() needs.
  [[nodiscard]] int64_t work_size() const {
    return 4 * Fourier<R>::pitch(length() + 1) + plan_.work_size();
  }
  /// y = the transform of x, an inverse one divided by the number of points. Complex numbers are
  /// interleaved. x: [input_size()], unchanged; y: [output_size()]; work: [work_size()].
  void run(const R* x, R* y, R* work) const;

 private:
  /// True for real signals of even length: each two points are transformed as one complex number.
  [[nodiscard]] bool is_halved() const {
    return shape_.points % 2 == 0 && (shape_.parts == 1 ? !shape_.is_inverse : returns_real());
  }
  [[nodiscard]] bool returns_real() const { return shape_.returns_real(); }
  /// Of the transform that is made.
  [[nodiscard]] int64_t length() const { return is_halved() ? shape_.points / 2 : shape_.points; }
  void run_halved(const R* x, R* y, Split<R> first, Split<R> second, R* work) const;
  void run_halved_back(const R* x, R* y, Split<R> first, Split<R> second, R* work) const;
  void load(const R* x, Split<R> target) const;

  FourierShape shape_;
  Fourier<R> plan_;
  Roots<R> roots_;  ///< twiddle factors between even and odd elements, if halved
};

}  // namespace gantry::cpu

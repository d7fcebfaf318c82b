// SPDX-License-Identifier: Apache-2.0
#include "signal/fourier_line.h"

#include <algorithm>

namespace gantry::cpu {

template <class R>
FourierLine<R>::FourierLine(const FourierShape& shape) : shape_(shape), plan_(length()) {
  if (is_halved()) roots_ = Roots<R>(shape.points, shape.points / 2 + 1);
}

template <class R>
void FourierLine<R>::run(const R* x, R* y, R* work) const {
  const int64_t step = Fourier<R>::pitch(length() + 1);
  const Split<R> first = {work, work + step};
  const Split<R> second = {work + 2 * step, work + 3 * step};
  R* rest = work + 4 * step;
  if (is_halved() && returns_real()) return run_halved_back(x, y, first, second, rest);
  if (is_halved()) return run_halved(x, y, first, second, rest);
  load(x, first);
  const Split<R> done = shape_.is_inverse
                            ? plan_.run(first.exchanged(), second.exchanged(), rest).exchanged()
                            : plan_.run(first, second, rest);
  const R scale = shape_.is_inverse ? R{1} / static_cast<R>(shape_.points) : R{1};
  if (returns_real()) {
    for (int64_t i = 0; i < shape_.points; ++i) y[i] = done.re[i] * scale;
    return;
  }
  if (shape_.parts == 1) {
    // The spectrum of a real signal is real at index 0 and, for even lengths, at points / 2.
    // Rounding would leave a small imaginary part.
    done.im[0] = 0;
    if (shape_.points % 2 == 0) done.im[shape_.points / 2] = 0;
  }
  simd::join(done.re, done.im, scale, shape_.spectrum(), y);
}

/// Loads a line into two arrays. A onesided spectrum is completed by conjugate symmetry.
template <class R>
void FourierLine<R>::load(const R* x, Split<R> target) const {
  const int64_t points = shape_.points;
  if (shape_.parts == 1) {
    std::copy_n(x, points, target.re);
    std::fill_n(target.im, points, R{0});
    return;
  }
  const int64_t given = returns_real() ? points / 2 + 1 : points;
  simd::split(x, given, target.re, target.im);
  for (int64_t i = given; i < points; ++i) {
    target.re[i] = target.re[points - i];
    target.im[i] = -target.im[points - i];
  }
}

template <class R>
void FourierLine<R>::run_halved(const R* x, R* y, Split<R> first, Split<R> second, R* work) const {
  const int64_t half = shape_.points / 2;
  simd::split(x, half, first.re, first.im);
  const Split<R> done = plan_.run(first, second, work);
  done.re[half] = done.re[0];
  done.im[half] = done.im[0];
  simd::real_fft_post(half, done.re, done.im, roots_.re.data(), roots_.im.data(), y);
  for (int64_t i = half + 1; i < shape_.spectrum(); ++i) {
    y[2 * i] = y[2 * (shape_.points - i)];
    y[2 * i + 1] = -y[2 * (shape_.points - i) + 1];
  }
}

template <class R>
void FourierLine<R>::run_halved_back(const R* x, R* y, Split<R> first, Split<R> second,
                                     R* work) const {
  const int64_t half = shape_.points / 2;
  simd::split(x, half + 1, first.re, first.im);
  // The spectrum of a real signal is real there.
  first.im[0] = 0;
  first.im[half] = 0;
  simd::inverse_real_fft_pre(half, first.re, first.im, roots_.re.data(), roots_.im.data(),
                             second.re, second.im);
  const Split<R> done = plan_.run(second.exchanged(), first.exchanged(), work).exchanged();
  simd::join(done.re, done.im, R{1} / static_cast<R>(shape_.points), half, y);
}

template class FourierLine<float>;
template class FourierLine<double>;

}  // namespace gantry::cpu

// SPDX-License-Identifier: Apache-2.0
#include "fourier.h"

#include <algorithm>
#include <cmath>

namespace gantry::cpu {

namespace {

constexpr double kPi = 3.14159265358979323846;

/// exp(2 pi i numerator / denominator)
std::complex<double> root_of_unity(int64_t numerator, int64_t denominator) {
  return std::polar(1.0,
                    2 * kPi * static_cast<double>(numerator) / static_cast<double>(denominator));
}

/// The library's product looks for infinities first.
template <class R>
std::complex<R> times(std::complex<R> a, std::complex<R> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
/// i a
template <class R>
std::complex<R> turned(std::complex<R> a) {
  return {-a.imag(), a.real()};
}

}  // namespace

bool is_smooth_length(int64_t length) {
  for (const int64_t factor : {2, 3, 5}) {
    while (length % factor == 0) length /= factor;
  }
  return length == 1;
}

template <class R>
Fourier<R>::Fourier(int64_t length, bool inverse) : length_(length), sign_(inverse ? R{1} : R{-1}) {
  if (is_smooth_length(length)) {
    plan_passes();
  } else {
    plan_convolution();
  }
}

template <class R>
void Fourier<R>::plan_passes() {
  int64_t before = 1;
  const auto add = [&](int64_t radix) {
    const int64_t after = length_ / before / radix;
    passes_.push_back({radix, before, after, twiddles_.size()});
    for (int64_t k = 1; k < radix; ++k) {
      for (int64_t i = 0; i < after; ++i) {
        const std::complex<double> root = root_of_unity(before * k * i, length_);
        twiddles_.push_back({static_cast<R>(root.real()), sign_ * static_cast<R>(root.imag())});
      }
    }
    before *= radix;
  };
  // A single factor of 2 goes first, where its pass has the longest inner loop.
  int64_t fours = 0;
  int64_t rest = length_;
  for (; rest % 4 == 0; rest /= 4) ++fours;
  if (rest % 2 == 0) {
    add(2);
    rest /= 2;
  }
  for (int64_t i = 0; i < fours; ++i) add(4);
  for (const int64_t radix : {3, 5}) {
    for (; rest % radix == 0; rest /= radix) add(radix);
  }
}

template <class R>
void Fourier<R>::plan_convolution() {
  int64_t padded = 2 * length_ - 1;
  while (!is_smooth_length(padded)) ++padded;
  forward_ = std::make_unique<Fourier>(padded, false);
  backward_ = std::make_unique<Fourier>(padded, true);
  work_ = 2 * padded;
  chirp_.resize(static_cast<size_t>(length_));
  std::vector<Complex> mirrored(static_cast<size_t>(padded));
  for (int64_t i = 0; i < length_; ++i) {
    // Modulo 2 * length, so that the angle stays exact.
    const uint64_t square = static_cast<uint64_t>(i) * static_cast<uint64_t>(i);
    const auto turns = static_cast<int64_t>(square % static_cast<uint64_t>(2 * length_));
    const std::complex<double> root = root_of_unity(turns, 2 * length_);
    const Complex turn(static_cast<R>(root.real()), sign_ * static_cast<R>(root.imag()));
    chirp_[static_cast<size_t>(i)] = turn;
    mirrored[static_cast<size_t>(i)] = std::conj(turn);
    if (i > 0) mirrored[static_cast<size_t>(padded - i)] = std::conj(turn);
  }
  kernel_.resize(static_cast<size_t>(padded));
  forward_->run(mirrored.data(), kernel_.data(), nullptr);
}

template <class R>
void Fourier<R>::run(Complex* x, Complex* y, Complex* work) const {
  if (forward_) return run_convolution(x, y, work);
  if (passes_.empty()) {
    *y = *x;
    return;
  }
  // Passes write to and fro; the last one has to write to y.
  Complex* from = x;
  Complex* to = y;
  if (passes_.size() % 2 == 0) {
    std::copy_n(x, length_, y);
    std::swap(from, to);
  }
  for (const Pass& pass : passes_) {
    switch (pass.radix) {
      case 2:
        pass2(pass, from, to);
        break;
      case 3:
        pass3(pass, from, to);
        break;
      case 4:
        pass4(pass, from, to);
        break;
      default:
        pass5(pass, from, to);
    }
    std::swap(from, to);
  }
}

template <class R>
void Fourier<R>::run_convolution(const Complex* x, Complex* y, Complex* work) const {
  const int64_t padded = work_ / 2;
  Complex* spectrum = work + padded;
  for (int64_t i = 0; i < length_; ++i) work[i] = times(x[i], chirp_[static_cast<size_t>(i)]);
  std::fill(work + length_, work + padded, Complex());
  forward_->run(work, spectrum, nullptr);
  for (int64_t i = 0; i < padded; ++i) {
    spectrum[i] = times(spectrum[i], kernel_[static_cast<size_t>(i)]);
  }
  backward_->run(spectrum, work, nullptr);
  const R scale = R{1} / static_cast<R>(padded);
  for (int64_t i = 0; i < length_; ++i) {
    y[i] = times(work[i], chirp_[static_cast<size_t>(i)]) * scale;
  }
}

// A pass reads x[k][j][i] and writes y[j][k][i]: j over the radix, k over `before`, i over `after`.

template <class R>
void Fourier<R>::pass2(const Pass& pass, const Complex* x, Complex* y) const {
  const int64_t n = pass.after;
  const int64_t step = pass.before * n;
  const Complex* w = twiddles_.data() + pass.twiddles;
  for (int64_t k = 0; k < pass.before; ++k, x += 2 * n, y += n) {
    for (int64_t i = 0; i < n; ++i) {
      y[i] = x[i] + x[i + n];
      y[i + step] = times(x[i] - x[i + n], w[i]);
    }
  }
}

template <class R>
void Fourier<R>::pass3(const Pass& pass, const Complex* x, Complex* y) const {
  const int64_t n = pass.after;
  const int64_t step = pass.before * n;
  const Complex* w = twiddles_.data() + pass.twiddles;
  const R sine = sign_ * static_cast<R>(0.86602540378443864676);
  for (int64_t k = 0; k < pass.before; ++k, x += 3 * n, y += n) {
    for (int64_t i = 0; i < n; ++i) {
      const Complex sum = x[i + n] + x[i + 2 * n];
      const Complex middle = x[i] - sum * R(0.5);
      const Complex side = turned((x[i + n] - x[i + 2 * n]) * sine);
      y[i] = x[i] + sum;
      y[i + step] = times(middle + side, w[i]);
      y[i + 2 * step] = times(middle - side, w[i + n]);
    }
  }
}

template <class R>
void Fourier<R>::pass4(const Pass& pass, const Complex* x, Complex* y) const {
  const int64_t n = pass.after;
  const int64_t step = pass.before * n;
  const Complex* w = twiddles_.data() + pass.twiddles;
  for (int64_t k = 0; k < pass.before; ++k, x += 4 * n, y += n) {
    for (int64_t i = 0; i < n; ++i) {
      const Complex even = x[i] + x[i + 2 * n];
      const Complex even_side = x[i] - x[i + 2 * n];
      const Complex odd = x[i + n] + x[i + 3 * n];
      const Complex odd_side = turned(x[i + n] - x[i + 3 * n]) * sign_;
      y[i] = even + odd;
      y[i + step] = times(even_side + odd_side, w[i]);
      y[i + 2 * step] = times(even - odd, w[i + n]);
      y[i + 3 * step] = times(even_side - odd_side, w[i + 2 * n]);
    }
  }
}

template <class R>
void Fourier<R>::pass5(const Pass& pass, const Complex* x, Complex* y) const {
  const int64_t n = pass.after;
  const int64_t step = pass.before * n;
  const Complex* w = twiddles_.data() + pass.twiddles;
  const R cos1 = static_cast<R>(0.30901699437494742410);
  const R cos2 = static_cast<R>(-0.80901699437494742410);
  const R sin1 = sign_ * static_cast<R>(0.95105651629515357212);
  const R sin2 = sign_ * static_cast<R>(0.58778525229247312917);
  for (int64_t k = 0; k < pass.before; ++k, x += 5 * n, y += n) {
    for (int64_t i = 0; i < n; ++i) {
      const Complex sum1 = x[i + n] + x[i + 4 * n];
      const Complex sum2 = x[i + 2 * n] + x[i + 3 * n];
      const Complex side1 = x[i + n] - x[i + 4 * n];
      const Complex side2 = x[i + 2 * n] - x[i + 3 * n];
      const Complex middle1 = x[i] + sum1 * cos1 + sum2 * cos2;
      const Complex middle2 = x[i] + sum1 * cos2 + sum2 * cos1;
      const Complex turn1 = turned(side1 * sin1 + side2 * sin2);
      const Complex turn2 = turned(side1 * sin2 - side2 * sin1);
      y[i] = x[i] + sum1 + sum2;
      y[i + step] = times(middle1 + turn1, w[i]);
      y[i + 2 * step] = times(middle2 + turn2, w[i + n]);
      y[i + 3 * step] = times(middle2 - turn2, w[i + 2 * n]);
      y[i + 4 * step] = times(middle1 - turn1, w[i + 3 * n]);
    }
  }
}

template class Fourier<float>;
template class Fourier<double>;

}  // namespace gantry::cpu

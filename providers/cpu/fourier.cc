// SPDX-License-Identifier: Apache-2.0
#include "fourier.h"

#include <algorithm>
#include <cmath>

namespace gantry::cpu {

namespace {

constexpr double kPi = 3.14159265358979323846;

bool is_smooth(int64_t n) {
  for (const int64_t factor : {2, 3, 5}) {
    while (n % factor == 0) n /= factor;
  }
  return n == 1;
}

}  // namespace

Fourier::Fourier(int64_t length, bool inverse) : length_(length) {
  if (is_smooth(length)) {
    forward_.emplace(static_cast<size_t>(length), inverse);
    return;
  }
  padded_ = 2 * length - 1;
  while (!is_smooth(padded_)) ++padded_;
  forward_.emplace(static_cast<size_t>(padded_), false);
  backward_.emplace(static_cast<size_t>(padded_), true);
  chirp_.resize(static_cast<size_t>(length));
  std::vector<Complex> mirrored(static_cast<size_t>(padded_));
  for (int64_t i = 0; i < length; ++i) {
    // i^2 modulo 2 * length, so that the angle stays exact.
    const auto square = static_cast<uint64_t>(i) * static_cast<uint64_t>(i);
    const auto angle = static_cast<double>(square % static_cast<uint64_t>(2 * length)) * kPi /
                       static_cast<double>(length);
    const Complex turn = std::polar(1.0, inverse ? angle : -angle);
    chirp_[static_cast<size_t>(i)] = turn;
    mirrored[static_cast<size_t>(i)] = std::conj(turn);
    if (i > 0) mirrored[static_cast<size_t>(padded_ - i)] = std::conj(turn);
  }
  kernel_.resize(static_cast<size_t>(padded_));
  forward_->transform(mirrored.data(), kernel_.data());
}

void Fourier::run(const Complex* x, Complex* y, Complex* work) const {
  if (padded_ == 0) return forward_->transform(x, y);
  Complex* spectrum = work + padded_;
  for (int64_t i = 0; i < length_; ++i) work[i] = x[i] * chirp_[static_cast<size_t>(i)];
  std::fill(work + length_, work + padded_, Complex());
  forward_->transform(work, spectrum);
  for (int64_t i = 0; i < padded_; ++i) spectrum[i] *= kernel_[static_cast<size_t>(i)];
  backward_->transform(spectrum, work);
  const double scale = 1.0 / static_cast<double>(padded_);
  for (int64_t i = 0; i < length_; ++i) y[i] = work[i] * chirp_[static_cast<size_t>(i)] * scale;
}

}  // namespace gantry::cpu

// SPDX-License-Identifier: Apache-2.0
#include "signal/fourier.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

namespace gantry::cpu {

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kLongRow = simd::kLongRow;

/// exp(-2 pi i numerator / denominator), 0 <= numerator < denominator.
std::complex<double> root_of_unity(int64_t numerator, int64_t denominator) {
  if (4 * numerator % denominator == 0) {
    constexpr std::complex<double> kQuarters[] = {{1, 0}, {0, -1}, {-1, 0}, {0, 1}};
    return kQuarters[4 * numerator / denominator];
  }
  return std::polar(1.0,
                    -2 * kPi * static_cast<double>(numerator) / static_cast<double>(denominator));
}

template <class R>
void set(std::vector<R>& re, std::vector<R>& im, int64_t index, std::complex<double> value) {
  re[static_cast<size_t>(index)] = static_cast<R>(value.real());
  im[static_cast<size_t>(index)] = static_cast<R>(value.imag());
}

}  // namespace

bool is_smooth_length(int64_t length) {
  for (const int64_t factor : {2, 3, 5, 7}) {
    while (length % factor == 0) length /= factor;
  }
  return length == 1;
}

template <class R>
Roots<R>::Roots(int64_t length, int64_t count)
    : re(static_cast<size_t>(count)), im(static_cast<size_t>(count)) {
  for (int64_t k = 0; k < count; ++k) set(re, im, k, root_of_unity(k, length));
}

template <class R>
Fourier<R>::Fourier(int64_t length) : length_(length) {
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
    add_pass(radix, before);
    before *= radix;
  };
  // A single factor of 2 comes first: the first pass has the longest rows.
  int64_t fours = 0;
  int64_t rest = length_;
  for (; rest % 4 == 0; rest /= 4) ++fours;
  if (rest % 2 == 0) {
    add(2);
    rest /= 2;
  }
  for (int64_t i = 0; i < fours; ++i) add(4);
  for (const int64_t radix : {3, 5, 7}) {
    for (; rest % radix == 0; rest /= radix) add(radix);
  }
}

template <class R>
void Fourier<R>::add_pass(int64_t radix, int64_t before) {
  auto pass = std::make_unique<Pass>();
  const int64_t after = length_ / before / radix;
  const bool by_tables = after < kLongRow && before * after >= kLongRow;
  pass->plan = {radix, before, after, nullptr, nullptr, 0, 0, nullptr, nullptr, nullptr};
  if (by_tables) {
    pass->plan.period = std::lcm(after, kLongRow);
    for (int64_t t = 0; t < pass->plan.period + kLongRow; ++t) {
      pass->offsets.push_back(static_cast<typename simd::FourierPass<R>::Offset>(
          t / after * radix * after + t % after));
    }
    pass->plan.offsets = pass->offsets.data();
  }
  if (after > 1) {
    pass->plan.pitch = by_tables ? pass->plan.period + kLongRow : after;
    pass->roots_re.resize(static_cast<size_t>((radix - 1) * pass->plan.pitch));
    pass->roots_im.resize(pass->roots_re.size());
    for (int64_t j = 1; j < radix; ++j) {
      for (int64_t t = 0; t < pass->plan.pitch; ++t) {
        set(pass->roots_re, pass->roots_im, (j - 1) * pass->plan.pitch + t,
            root_of_unity(before * j * (t % after), length_));
      }
    }
    pass->plan.roots_re = pass->roots_re.data();
    pass->plan.roots_im = pass->roots_im.data();
  }
  // Passes expect sines of positive angles; Roots has negative ones.
  pass->twiddles = Roots<R>(radix, radix);
  for (R& sine : pass->twiddles.im) sine = -sine;
  pass->plan.cosines = pass->twiddles.re.data();
  pass->plan.sines = pass->twiddles.im.data();
  passes_.push_back(std::move(pass));
}

template <class R>
void Fourier<R>::plan_convolution() {
  // A multiple of kLongRow, so that no pass has few and short rows.
  int64_t padded = (2 * length_ - 1 + kLongRow - 1) / kLongRow * kLongRow;
  while (!is_smooth_length(padded)) padded += kLongRow;
  kernel_length_ = padded;
  forward_ = std::make_unique<Fourier>(padded);
  chirp_.re.resize(static_cast<size_t>(length_));
  chirp_.im.resize(static_cast<size_t>(length_));
  Roots<R> mirrored;
  mirrored.re.resize(static_cast<size_t>(padded));
  mirrored.im.resize(static_cast<size_t>(padded));
  for (int64_t i = 0; i < length_; ++i) {
    // i^2 modulo 2 * length, so that the angle stays exact.
    const uint64_t square = static_cast<uint64_t>(i) * static_cast<uint64_t>(i);
    const auto twiddles = static_cast<int64_t>(square % static_cast<uint64_t>(2 * length_));
    const std::complex<double> root = root_of_unity(twiddles, 2 * length_);
    set(chirp_.re, chirp_.im, i, root);
    set(mirrored.re, mirrored.im, i, std::conj(root));
    if (i > 0) set(mirrored.re, mirrored.im, padded - i, std::conj(root));
  }
  kernel_.re.resize(static_cast<size_t>(padded));
  kernel_.im.resize(static_cast<size_t>(padded));
  const Split<R> spectrum = forward_->run({mirrored.re.data(), mirrored.im.data()},
                                          {kernel_.re.data(), kernel_.im.data()}, nullptr);
  if (spectrum.re != kernel_.re.data()) std::swap(kernel_, mirrored);
  // The scaling of the inverse transform in run_convolution().
  for (R& number : kernel_.re) number /= static_cast<R>(padded);
  for (R& number : kernel_.im) number /= static_cast<R>(padded);
}

template <class R>
Split<R> Fourier<R>::run(Split<R> x, Split<R> y, R* work) const {
  if (forward_) return run_convolution(x, y, work);
  for (const auto& pass : passes_) {
    simd::run_pass(pass->plan, x.re, x.im, y.re, y.im);
    std::swap(x, y);
  }
  return x;
}

template <class R>
Split<R> Fourier<R>::run_convolution(Split<R> x, Split<R> y, R* work) const {
  const int64_t padded = kernel_length_;
  const int64_t step = pitch(padded);
  const Split<R> first = {work, work + step};
  const Split<R> second = {work + 2 * step, work + 3 * step};
  simd::multiply(length_, x.re, x.im, chirp_.re.data(), chirp_.im.data(), first.re, first.im);
  std::fill(first.re + length_, first.re + padded, R{0});
  std::fill(first.im + length_, first.im + padded, R{0});
  const Split<R> spectrum = forward_->run(first, second, nullptr);
  const Split<R> other = spectrum.re == first.re ? second : first;
  simd::multiply(padded, spectrum.re, spectrum.im, kernel_.re.data(), kernel_.im.data(),
                 spectrum.re, spectrum.im);
  const Split<R> back = forward_->run(spectrum.exchanged(), other.exchanged(), nullptr).exchanged();
  simd::multiply(length_, back.re, back.im, chirp_.re.data(), chirp_.im.data(), y.re, y.im);
  return y;
}

template struct Roots<float>;
template struct Roots<double>;
template class Fourier<float>;
template class Fourier<double>;

}  // namespace gantry::cpu

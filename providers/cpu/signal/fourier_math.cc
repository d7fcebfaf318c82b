// SPDX-License-Identifier: Apache-2.0
#include "signal/fourier_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "signal/fourier_math.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Tags for whole vectors and for single elements.
template <class R>
using FourierTag = hn::CappedTag<R, 64 / sizeof(R)>;
template <class R>
using OneTag = hn::CappedTag<R, 1>;

/// Calls at(d, i) so that [0, count) is covered by vectors; the last may overlap the one before.
template <class R, class At>
HWY_INLINE void for_each_vector(int64_t count, const At& at) {
  const FourierTag<R> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count < lanes) {
    for (int64_t i = 0; i < count; ++i) at(OneTag<R>(), i);
    return;
  }
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) at(d, i);
  if (i < count) at(d, count - lanes);
}

/// The transform of length kRadix (3, 5 or 7), in place.
template <int kRadix, class D, class R, class V>
HWY_INLINE void transform_odd(D d, const R* cosines, const R* sines, V* re, V* im) {
  constexpr int kHalf = kRadix / 2;
  // Elements m and kRadix - m have equal cosines and opposite sines.
  V sum_re[kHalf];
  V sum_im[kHalf];
  V rest_re[kHalf];
  V rest_im[kHalf];
  const V first_re = re[0];
  const V first_im = im[0];
#pragma GCC unroll 8
  for (int m = 0; m < kHalf; ++m) {
    sum_re[m] = hn::Add(re[m + 1], re[kRadix - 1 - m]);
    sum_im[m] = hn::Add(im[m + 1], im[kRadix - 1 - m]);
    rest_re[m] = hn::Sub(re[m + 1], re[kRadix - 1 - m]);
    rest_im[m] = hn::Sub(im[m + 1], im[kRadix - 1 - m]);
    re[0] = hn::Add(re[0], sum_re[m]);
    im[0] = hn::Add(im[0], sum_im[m]);
  }
#pragma GCC unroll 8
  for (int k = 1; k <= kHalf; ++k) {
    V even_re = first_re;
    V even_im = first_im;
    V odd_re = hn::Zero(d);
    V odd_im = hn::Zero(d);
#pragma GCC unroll 8
    for (int m = 1; m <= kHalf; ++m) {
      const V cosine = hn::Set(d, cosines[k * m % kRadix]);
      const V sine = hn::Set(d, sines[k * m % kRadix]);
      even_re = hn::MulAdd(sum_re[m - 1], cosine, even_re);
      even_im = hn::MulAdd(sum_im[m - 1], cosine, even_im);
      odd_re = hn::MulAdd(rest_re[m - 1], sine, odd_re);
      odd_im = hn::MulAdd(rest_im[m - 1], sine, odd_im);
    }
    re[k] = hn::Add(even_re, odd_im);
    im[k] = hn::Sub(even_im, odd_re);
    re[kRadix - k] = hn::Sub(even_re, odd_im);
    im[kRadix - k] = hn::Add(even_im, odd_re);
  }
}

template <int kRadix, class D, class R, class V>
HWY_INLINE void transform_few(D d, const R* cosines, const R* sines, V* re, V* im) {
  if constexpr (kRadix == 2) {
    const V re0 = re[0];
    const V im0 = im[0];
    re[0] = hn::Add(re0, re[1]);
    im[0] = hn::Add(im0, im[1]);
    re[1] = hn::Sub(re0, re[1]);
    im[1] = hn::Sub(im0, im[1]);
  } else if constexpr (kRadix == 4) {
    const V even_re = hn::Add(re[0], re[2]);
    const V even_im = hn::Add(im[0], im[2]);
    const V even_rest_re = hn::Sub(re[0], re[2]);
    const V even_rest_im = hn::Sub(im[0], im[2]);
    const V odd_re = hn::Add(re[1], re[3]);
    const V odd_im = hn::Add(im[1], im[3]);
    const V odd_rest_re = hn::Sub(re[1], re[3]);
    const V odd_rest_im = hn::Sub(im[1], im[3]);
    re[0] = hn::Add(even_re, odd_re);
    im[0] = hn::Add(even_im, odd_im);
    re[1] = hn::Add(even_rest_re, odd_rest_im);
    im[1] = hn::Sub(even_rest_im, odd_rest_re);
    re[2] = hn::Sub(even_re, odd_re);
    im[2] = hn::Sub(even_im, odd_im);
    re[3] = hn::Sub(even_rest_re, odd_rest_im);
    im[3] = hn::Add(even_rest_im, odd_rest_re);
  } else {
    transform_odd<kRadix>(d, cosines, sines, re, im);
  }
}

/// Where a vector of a pass reads and writes.
template <class R>
struct PassPoint {
  const R* x_re;
  const R* x_im;
  const typename simd::FourierPass<R>::Offset* offsets;
  int64_t root;
  R* y_re;
  R* y_im;
};

template <int kRadix, bool kGathers, class D, class R>
HWY_INLINE void pass_at(D d, const simd::FourierPass<R>& p, const PassPoint<R>& at) {
  using V = hn::Vec<D>;
  V re[kRadix];
  V im[kRadix];
#pragma GCC unroll 8
  for (int j = 0; j < kRadix; ++j) {
    if constexpr (kGathers) {
      const auto offsets = hn::LoadU(hn::RebindToSigned<D>(), at.offsets);
      re[j] = hn::GatherIndex(d, at.x_re + j * p.after, offsets);
      im[j] = hn::GatherIndex(d, at.x_im + j * p.after, offsets);
    } else {
      re[j] = hn::LoadU(d, at.x_re + j * p.after);
      im[j] = hn::LoadU(d, at.x_im + j * p.after);
    }
  }
  transform_few<kRadix>(d, p.cosines, p.sines, re, im);
  hn::StoreU(re[0], d, at.y_re);
  hn::StoreU(im[0], d, at.y_im);
  const int64_t step = p.before * p.after;
#pragma GCC unroll 8
  for (int j = 1; j < kRadix; ++j) {
    if (p.roots_re) {
      const V root_re = hn::LoadU(d, p.roots_re + (j - 1) * p.pitch + at.root);
      const V root_im = hn::LoadU(d, p.roots_im + (j - 1) * p.pitch + at.root);
      const V rotated = hn::NegMulAdd(im[j], root_im, hn::Mul(re[j], root_re));
      im[j] = hn::MulAdd(re[j], root_im, hn::Mul(im[j], root_re));
      re[j] = rotated;
    }
    hn::StoreU(re[j], d, at.y_re + j * step);
    hn::StoreU(im[j], d, at.y_im + j * step);
  }
}

template <int kRadix, class R>
HWY_INLINE void pass_by_tables(const simd::FourierPass<R>& p, const R* x_re, const R* x_im, R* y_re,
                               R* y_im) {
  const FourierTag<R> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t step = p.before * p.after;
  const auto at = [&](int64_t begin, int64_t t) HWY_ATTR {
    const int64_t x = begin * kRadix;
    pass_at<kRadix, true>(
        d, p, {x_re + x, x_im + x, p.offsets + t, t, y_re + begin + t, y_im + begin + t});
  };
  for (int64_t begin = 0; begin < step; begin += p.period) {
    for (int64_t t = 0; t < p.period && begin + t + lanes <= step; t += lanes) at(begin, t);
  }
  const int64_t last = step - lanes;
  if (step % lanes != 0) at(last / p.period * p.period, last % p.period);
}

template <int kRadix, class R>
HWY_INLINE void pass_of(const simd::FourierPass<R>& p, const R* x_re, const R* x_im, R* y_re,
                        R* y_im) {
  if (p.period > 0) return pass_by_tables<kRadix>(p, x_re, x_im, y_re, y_im);
  for (int64_t k = 0; k < p.before; ++k) {
    const int64_t x = k * kRadix * p.after;
    const int64_t y = k * p.after;
    for_each_vector<R>(p.after, [&](auto d, int64_t i) HWY_ATTR {
      pass_at<kRadix, false>(d, p,
                             {x_re + x + i, x_im + x + i, nullptr, i, y_re + y + i, y_im + y + i});
    });
  }
}

template <class R>
HWY_INLINE void run_any_pass(const simd::FourierPass<R>& p, const R* x_re, const R* x_im, R* y_re,
                             R* y_im) {
  switch (p.radix) {
    case 2:
      return pass_of<2>(p, x_re, x_im, y_re, y_im);
    case 3:
      return pass_of<3>(p, x_re, x_im, y_re, y_im);
    case 4:
      return pass_of<4>(p, x_re, x_im, y_re, y_im);
    case 5:
      return pass_of<5>(p, x_re, x_im, y_re, y_im);
    default:
      return pass_of<7>(p, x_re, x_im, y_re, y_im);
  }
}

template <class R>
HWY_INLINE void split_any(const R* x, int64_t count, R* re, R* im) {
  for_each_vector<R>(count, [&](auto d, int64_t i) HWY_ATTR {
    hn::Vec<decltype(d)> even;
    hn::Vec<decltype(d)> odd;
    hn::LoadInterleaved2(d, x + 2 * i, even, odd);
    hn::StoreU(even, d, re + i);
    hn::StoreU(odd, d, im + i);
  });
}
template <class R>
HWY_INLINE void join_any(const R* re, const R* im, R scale, int64_t count, R* y) {
  for_each_vector<R>(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto factor = hn::Set(d, scale);
    hn::StoreInterleaved2(hn::Mul(hn::LoadU(d, re + i), factor),
                          hn::Mul(hn::LoadU(d, im + i), factor), d, y + 2 * i);
  });
}

template <class R>
HWY_INLINE void multiply_any(int64_t count, const R* a_re, const R* a_im, const R* b_re,
                             const R* b_im, R* y_re, R* y_im) {
  const auto at = [&](auto d, int64_t i) HWY_ATTR {
    const auto re = hn::LoadU(d, a_re + i);
    const auto im = hn::LoadU(d, a_im + i);
    const auto other_re = hn::LoadU(d, b_re + i);
    const auto other_im = hn::LoadU(d, b_im + i);
    hn::StoreU(hn::NegMulAdd(im, other_im, hn::Mul(re, other_re)), d, y_re + i);
    hn::StoreU(hn::MulAdd(re, other_im, hn::Mul(im, other_re)), d, y_im + i);
  };
  // No overlapping vectors here: y may be a.
  const FourierTag<R> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) at(d, i);
  for (; i < count; ++i) at(OneTag<R>(), i);
}

/// Lane i is x[last - i].
template <class D, class R>
HWY_INLINE hn::Vec<D> load_backwards(D d, const R* x, int64_t last) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  return hn::Reverse(d, hn::LoadU(d, x + last - (lanes - 1)));
}

template <class R>
HWY_INLINE void untangle_any(int64_t half, const R* z_re, const R* z_im, const R* roots_re,
                             const R* roots_im, R* y) {
  for_each_vector<R>(half + 1, [&](auto d, int64_t k) HWY_ATTR {
    const auto a_re = hn::LoadU(d, z_re + k);
    const auto a_im = hn::LoadU(d, z_im + k);
    const auto b_re = load_backwards(d, z_re, half - k);
    const auto b_im = load_backwards(d, z_im, half - k);
    const auto root_re = hn::LoadU(d, roots_re + k);
    const auto root_im = hn::LoadU(d, roots_im + k);
    // Twice the transforms of the elements at even and at odd indices.
    const auto even_re = hn::Add(a_re, b_re);
    const auto even_im = hn::Sub(a_im, b_im);
    const auto odd_re = hn::Add(a_im, b_im);
    const auto odd_im = hn::Sub(b_re, a_re);
    const auto re = hn::Add(even_re, hn::NegMulAdd(odd_im, root_im, hn::Mul(odd_re, root_re)));
    const auto im = hn::Add(even_im, hn::MulAdd(odd_re, root_im, hn::Mul(odd_im, root_re)));
    const auto scale = hn::Set(d, R(0.5));
    hn::StoreInterleaved2(hn::Mul(re, scale), hn::Mul(im, scale), d, y + 2 * k);
  });
}
template <class R>
HWY_INLINE void tangle_any(int64_t half, const R* x_re, const R* x_im, const R* roots_re,
                           const R* roots_im, R* z_re, R* z_im) {
  for_each_vector<R>(half, [&](auto d, int64_t k) HWY_ATTR {
    const auto a_re = hn::LoadU(d, x_re + k);
    const auto a_im = hn::LoadU(d, x_im + k);
    const auto b_re = load_backwards(d, x_re, half - k);
    const auto b_im = load_backwards(d, x_im, half - k);
    const auto root_re = hn::LoadU(d, roots_re + k);
    const auto root_im = hn::LoadU(d, roots_im + k);
    // a - conj(b), multiplied by the conjugate root and then by i.
    const auto rest_re = hn::Sub(a_re, b_re);
    const auto rest_im = hn::Add(a_im, b_im);
    const auto odd_re = hn::MulAdd(rest_im, root_im, hn::Mul(rest_re, root_re));
    const auto odd_im = hn::NegMulAdd(rest_re, root_im, hn::Mul(rest_im, root_re));
    hn::StoreU(hn::Sub(hn::Add(a_re, b_re), odd_im), d, z_re + k);
    hn::StoreU(hn::Add(hn::Sub(a_im, b_im), odd_re), d, z_im + k);
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot stand in parentheses
#define GANTRY_FOURIER(R, suffix)                                                               \
  void split_##suffix(const R* x, int64_t n, R* re, R* im) { split_any(x, n, re, im); }         \
  void join_##suffix(const R* re, const R* im, R s, int64_t n, R* y) {                          \
    join_any(re, im, s, n, y);                                                                  \
  }                                                                                             \
  void pass_##suffix(const simd::FourierPass<R>& p, const R* xr, const R* xi, R* yr, R* yi) {   \
    run_any_pass(p, xr, xi, yr, yi);                                                            \
  }                                                                                             \
  void multiply_##suffix(int64_t n, const R* ar, const R* ai, const R* br, const R* bi, R* yr,  \
                         R* yi) {                                                               \
    multiply_any(n, ar, ai, br, bi, yr, yi);                                                    \
  }                                                                                             \
  void untangle_##suffix(int64_t h, const R* zr, const R* zi, const R* rr, const R* ri, R* y) { \
    untangle_any(h, zr, zi, rr, ri, y);                                                         \
  }                                                                                             \
  void tangle_##suffix(int64_t h, const R* xr, const R* xi, const R* rr, const R* ri, R* zr,    \
                       R* zi) {                                                                 \
    tangle_any(h, xr, xi, rr, ri, zr, zi);                                                      \
  }
GANTRY_FOURIER(float, f32)
GANTRY_FOURIER(double, f64)
#undef GANTRY_FOURIER
// NOLINTEND(bugprone-macro-parentheses)

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::cpu {

// NOLINTBEGIN(bugprone-macro-parentheses): a type cannot stand in parentheses
#define GANTRY_EXPORT(R, suffix)                                                                  \
  HWY_EXPORT(split_##suffix);                                                                     \
  HWY_EXPORT(join_##suffix);                                                                      \
  HWY_EXPORT(pass_##suffix);                                                                      \
  HWY_EXPORT(multiply_##suffix);                                                                  \
  HWY_EXPORT(untangle_##suffix);                                                                  \
  HWY_EXPORT(tangle_##suffix);                                                                    \
  void simd::split(const R* x, int64_t n, R* re, R* im) {                                         \
    HWY_DYNAMIC_DISPATCH(split_##suffix)(x, n, re, im);                                           \
  }                                                                                               \
  void simd::join(const R* re, const R* im, R scale, int64_t n, R* y) {                           \
    HWY_DYNAMIC_DISPATCH(join_##suffix)(re, im, scale, n, y);                                     \
  }                                                                                               \
  void simd::run_pass(const FourierPass<R>& p, const R* xr, const R* xi, R* yr, R* yi) {          \
    HWY_DYNAMIC_DISPATCH(pass_##suffix)(p, xr, xi, yr, yi);                                       \
  }                                                                                               \
  void simd::multiply(int64_t n, const R* ar, const R* ai, const R* br, const R* bi, R* yr,       \
                      R* yi) {                                                                    \
    HWY_DYNAMIC_DISPATCH(multiply_##suffix)(n, ar, ai, br, bi, yr, yi);                           \
  }                                                                                               \
  void simd::real_fft_post(int64_t h, const R* zr, const R* zi, const R* rr, const R* ri, R* y) { \
    HWY_DYNAMIC_DISPATCH(untangle_##suffix)(h, zr, zi, rr, ri, y);                                \
  }                                                                                               \
  void simd::inverse_real_fft_pre(int64_t h, const R* xr, const R* xi, const R* rr, const R* ri,  \
                                  R* zr, R* zi) {                                                 \
    HWY_DYNAMIC_DISPATCH(tangle_##suffix)(h, xr, xi, rr, ri, zr, zi);                             \
  }
GANTRY_EXPORT(float, f32)
GANTRY_EXPORT(double, f64)
#undef GANTRY_EXPORT
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace gantry::cpu
#endif  // HWY_ONCE

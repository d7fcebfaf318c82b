// SPDX-License-Identifier: Apache-2.0
#include "linear_algebra/skinny_gemm.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "linear_algebra/skinny_gemm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using GemmTag = hn::ScalableTag<float>;
using GemmVec = hn::Vec<GemmTag>;

#if !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR
/// Adds the sum of all blocks of four lanes to c[0] to c[3].
template <class D>
HWY_INLINE void add_blocks(D d, hn::Vec<D> v, float* c) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    hn::StoreU(hn::Add(hn::LoadU(d, c), v), d, c);
  } else {
    const hn::Half<D> half;
    add_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), c);
  }
}
#endif

/// The sum of the lanes of each of four vectors, added to c[0] to c[3].
HWY_INLINE void add_lane_sums(const GemmVec (&v)[4], float* c) {
#if HWY_HAVE_SCALABLE || HWY_TARGET == HWY_SCALAR
  for (int j = 0; j < 4; ++j) c[j] += hn::GetLane(hn::SumOfLanes(GemmTag(), v[j]));
#else
  // The vectors are transposed within blocks of four lanes while they are added.
  const GemmTag d;
  const hn::Repartition<double, GemmTag> pairs;
  const auto low = hn::Add(hn::InterleaveLower(d, v[0], v[1]), hn::InterleaveUpper(d, v[0], v[1]));
  const auto high = hn::Add(hn::InterleaveLower(d, v[2], v[3]), hn::InterleaveUpper(d, v[2], v[3]));
  const auto p = hn::BitCast(pairs, low);
  const auto q = hn::BitCast(pairs, high);
  const auto blocks = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, p, q)),
                              hn::BitCast(d, hn::InterleaveUpper(pairs, p, q)));
  add_blocks(d, blocks, c);
#endif
}

/// Multiplies kM rows of a with kN rows of b; each sum has its own vector.
template <int kM, int kN>
HWY_INLINE void add_tile(const float* a, const float* b, float* c, int64_t k, int64_t ldc) {
  const GemmTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t whole = k - k % lanes;
  GemmVec sums[kM][kN];
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) sums[i][j] = hn::Zero(d);
  }
  if constexpr (kM == 1) {
    // b is read row by row, in the order of memory.
    for (int j = 0; j < kN; ++j) {
      for (int64_t at = 0; at < whole; at += lanes)
        sums[0][j] = hn::MulAdd(hn::LoadU(d, a + at), hn::LoadU(d, b + j * k + at), sums[0][j]);
    }
  } else {
    for (int64_t at = 0; at < whole; at += lanes) {
      GemmVec rows[kN];
      for (int j = 0; j < kN; ++j) rows[j] = hn::LoadU(d, b + j * k + at);
      for (int i = 0; i < kM; ++i) {
        const GemmVec v = hn::LoadU(d, a + i * k + at);
        for (int j = 0; j < kN; ++j) sums[i][j] = hn::MulAdd(v, rows[j], sums[i][j]);
      }
    }
  }
  for (int i = 0; i < kM; ++i) {
    float* target = c + i * ldc;
    if constexpr (kN == 4) {
      add_lane_sums(sums[i], target);
    } else {
      for (int j = 0; j < kN; ++j) target[j] += hn::GetLane(hn::SumOfLanes(d, sums[i][j]));
    }
    for (int64_t at = whole; at < k; ++at) {
      for (int j = 0; j < kN; ++j) target[j] += a[i * k + at] * b[j * k + at];
    }
  }
}

/// Multiplies all rows of a with kN rows of b, which stay in the L1 cache.
template <int kN>
HWY_INLINE void add_columns(const float* a, const float* b, float* c, int64_t m, int64_t k,
                            int64_t ldc) {
  int64_t i = 0;
  for (; i + 4 <= m; i += 4) add_tile<4, kN>(a + i * k, b, c + i * ldc, k, ldc);
  for (; i < m; ++i) add_tile<1, kN>(a + i * k, b, c + i * ldc, k, ldc);
}

void add_skinny_gemm(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k,
                     int64_t ldc) {
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) add_columns<4>(a, b + j * k, c + j, m, k, ldc);
  for (; j < n; ++j) add_columns<1>(a, b + j * k, c + j, m, k, ldc);
}

/// Adds kVectors vectors of columns of a b to kM rows of c.
template <int kM, int kVectors>
HWY_INLINE void add_tile_of_rows(const float* a, const float* b, float* c, int64_t n, int64_t k) {
  const GemmTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  GemmVec sums[kM][kVectors];
  for (int i = 0; i < kM; ++i) {
    for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::LoadU(d, c + i * n + v * lanes);
  }
  for (int64_t at = 0; at < k; ++at) {
    GemmVec row[kVectors];
    for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(d, b + at * n + v * lanes);
    for (int i = 0; i < kM; ++i) {
      const GemmVec factor = hn::Set(d, a[i * k + at]);
      for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::MulAdd(factor, row[v], sums[i][v]);
    }
  }
  for (int i = 0; i < kM; ++i) {
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[i][v], d, c + i * n + v * lanes);
  }
}

template <int kM>
HWY_INLINE void add_rows(const float* a, const float* b, float* c, int64_t n, int64_t k) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(GemmTag()));
  int64_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) add_tile_of_rows<kM, 2>(a, b + j, c + j, n, k);
  for (; j + lanes <= n; j += lanes) add_tile_of_rows<kM, 1>(a, b + j, c + j, n, k);
  for (; j < n; ++j) {
    for (int i = 0; i < kM; ++i) {
      for (int64_t at = 0; at < k; ++at) c[i * n + j] += a[i * k + at] * b[at * n + j];
    }
  }
}

void add_skinny_gemm_of_rows(const float* a, const float* b, float* c, int64_t m, int64_t n,
                             int64_t k) {
  int64_t i = 0;
  for (; i + 4 <= m; i += 4) add_rows<4>(a + i * k, b, c + i * n, n, k);
  for (; i < m; ++i) add_rows<1>(a + i * k, b, c + i * n, n, k);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::cpu {

HWY_EXPORT(add_skinny_gemm);
void simd::add_skinny_gemm(const float* a, const float* b, float* c, int64_t m, int64_t n,
                           int64_t k, int64_t ldc) {
  HWY_DYNAMIC_DISPATCH(add_skinny_gemm)(a, b, c, m, n, k, ldc);
}

HWY_EXPORT(add_skinny_gemm_of_rows);
void simd::add_skinny_gemm_of_rows(const float* a, const float* b, float* c, int64_t m, int64_t n,
                                   int64_t k) {
  HWY_DYNAMIC_DISPATCH(add_skinny_gemm_of_rows)(a, b, c, m, n, k);
}

}  // namespace gantry::cpu
#endif  // HWY_ONCE

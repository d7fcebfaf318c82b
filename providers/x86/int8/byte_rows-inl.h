// SPDX-License-Identifier: Apache-2.0
// Rows of bytes times panels of byte_panels.h, for one of Highway's targets: included again for
// each.
#if defined(GANTRY_X86_INT8_BYTE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_INT8_BYTE_ROWS_INL_H_
#undef GANTRY_X86_INT8_BYTE_ROWS_INL_H_
#else
#define GANTRY_X86_INT8_BYTE_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "int8/widened_results-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

/// One panel of BytePanels.
struct BytePanel {
  const int8_t* weights;
  const int32_t* extra_quads;   ///< of all halves
  const int8_t* extra_weights;  ///< likewise
  int64_t extra_begin[2];       ///< by half
  int64_t extra_end[2];

  BytePanel(const BytePanels& panels, int64_t index, int64_t quads)
      : weights(panels.weights + index * quads * kWidenedPanel * 4),
        extra_quads(panels.extra_quads),
        extra_weights(panels.extra_weights),
        extra_begin{index > 0 ? panels.extra_ends[2 * index - 1] : 0, panels.extra_ends[2 * index]},
        extra_end{panels.extra_ends[2 * index], panels.extra_ends[2 * index + 1]} {}
};

#if HWY_TARGET > HWY_SSE4 || HWY_TARGET == HWY_SCALAR

constexpr int kByteRows = 3;  // of a tile

template <int kRows>
void multiply_bytes(const BytePanel& panel, const uint8_t* rows, int64_t quads,
                    const int32_t* initial, int32_t* sums) {
  const auto add = [&](int64_t r, int64_t half, int64_t quad, const int8_t* weights) {
    int32_t* const to = sums + r * kWidenedPanel + half * kHalfPanel;
    for (int64_t i = 0; i < kHalfPanel * 4; ++i)
      to[i / 4] += rows[(r * quads + quad) * 4 + i % 4] * weights[i];
  };
  for (int64_t r = 0; r < kRows; ++r) {
    std::copy_n(initial, kWidenedPanel, sums + r * kWidenedPanel);
    for (int64_t half = 0; half < 2; ++half) {
      for (int64_t quad = 0; quad < quads; ++quad)
        add(r, half, quad, panel.weights + (quad * 2 + half) * kHalfPanel * 4);
      for (int64_t i = panel.extra_begin[half]; i < panel.extra_end[half]; ++i)
        add(r, half, panel.extra_quads[i], panel.extra_weights + i * kHalfPanel * 4);
    }
  }
}

#else

#if HWY_TARGET <= HWY_AVX3
constexpr int kByteRows = 12;  // of a tile
HWY_INLINE __m512i add_pairs_of_bytes(__m512i x, __m512i w) { return _mm512_maddubs_epi16(x, w); }
#elif HWY_TARGET == HWY_AVX2
constexpr int kByteRows = 6;
HWY_INLINE __m256i add_pairs_of_bytes(__m256i x, __m256i w) { return _mm256_maddubs_epi16(x, w); }
#else
constexpr int kByteRows = 3;
HWY_INLINE __m128i add_pairs_of_bytes(__m128i x, __m128i w) { return _mm_maddubs_epi16(x, w); }
#endif

/// Sums of kRows rows, each of `quads` quads of bytes, with a panel: [kRows, kWidenedPanel], which
/// begin with `initial`, [kWidenedPanel].
template <int kRows>
void multiply_bytes(const BytePanel& panel, const uint8_t* rows, int64_t quads,
                    const int32_t* initial, int32_t* sums) {
  const I32 d32;
  const hn::Repartition<int16_t, I32> d16;
  const hn::Repartition<int8_t, I32> d8;
  const auto ones = hn::Set(d16, int16_t{1});
  V32I all[kRows * kVectorsOfPanel];
  // Unrolled, here and below, so that the sums stay in registers.
#pragma GCC unroll 24
  for (int i = 0; i < kRows * kVectorsOfPanel; ++i)
    all[i] = hn::LoadU(d32, initial + i % kVectorsOfPanel * kLanes);
  // Vectors [first, end) of the panel; load(v): their weights.
  const auto add = [&](auto first, auto end, int64_t quad, auto&& load) HWY_ATTR {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      int32_t four = 0;
      std::memcpy(&four, rows + (r * quads + quad) * 4, sizeof(four));
      const auto x = hn::Set(d32, four);
#pragma GCC unroll 4
      for (int v = first; v < end; ++v) {
        const hn::Vec<decltype(d16)> pairs{add_pairs_of_bytes(x.raw, load(v).raw)};
        V32I& sum = all[r * kVectorsOfPanel + v];
        auto unused = hn::Zero(d32);
        sum = hn::ReorderWidenMulAccumulate(d32, pairs, ones, sum, unused);
      }
    }
  };
  const std::integral_constant<int, kVectorsOfPanel> all_vectors;
  for (int64_t quad = 0; quad < quads; ++quad) {
    add(std::integral_constant<int, 0>(), all_vectors, quad, [&](int v) HWY_ATTR {
      return hn::LoadU(d8, panel.weights + (quad * kWidenedPanel + v * kLanes) * 4);
    });
  }
  const auto add_extras = [&](auto half) HWY_ATTR {
    constexpr int kHalf = decltype(half)::value;
    constexpr int kFirst = kHalf * kVectorsOfPanel / 2;
    constexpr int kEnd = (kHalf + 1) * kVectorsOfPanel / 2;
    for (int64_t i = panel.extra_begin[kHalf]; i < panel.extra_end[kHalf]; ++i) {
      const int8_t* weights = panel.extra_weights + i * kHalfPanel * 4;
      if constexpr (kVectorsOfPanel == 1) {
        const hn::Half<decltype(d8)> d_half;
        const auto some = hn::LoadU(d_half, weights);
        const auto none = hn::Zero(d_half);
        const auto w = kHalf == 0 ? hn::Combine(d8, none, some) : hn::Combine(d8, some, none);
        add(std::integral_constant<int, 0>(), all_vectors, panel.extra_quads[i],
            [&](int) HWY_ATTR { return w; });
      } else {
        add(std::integral_constant<int, kFirst>(), std::integral_constant<int, kEnd>(),
            panel.extra_quads[i],
            [&](int v) HWY_ATTR { return hn::LoadU(d8, weights + (v - kFirst) * kLanes * 4); });
      }
    }
  };
  add_extras(std::integral_constant<int, 0>());
  add_extras(std::integral_constant<int, 1>());
#pragma GCC unroll 24
  for (int i = 0; i < kRows * kVectorsOfPanel; ++i) hn::StoreU(all[i], d32, sums + i * kLanes);
}

#endif

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// SPDX-License-Identifier: Apache-2.0
// Rows of u8 times panels of byte_panels.h. Included once for each Highway target.
#if defined(GANTRY_X86_INT8_BYTE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_INT8_BYTE_ROWS_INL_H_
#undef GANTRY_X86_INT8_BYTE_ROWS_INL_H_
#else
#define GANTRY_X86_INT8_BYTE_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "int8/byte_products-inl.h"
#include "int8/widened_results-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

/// One panel of BytePanels.
struct BytePanel {
  const int8_t* weights;
  const int32_t* extra_quads;   ///< of all panels
  const int8_t* extra_weights;  ///< of all panels
  int64_t extra_begin[2];       ///< of this panel, by half
  int64_t extra_end[2];

  BytePanel() = default;
  BytePanel(const BytePanels& panels, int64_t index, int64_t quads)
      : weights(panels.weights + index * quads * kWidenedPanel * 4),
        extra_quads(panels.extra_quads),
        extra_weights(panels.extra_weights),
        extra_begin{index > 0 ? panels.extra_ends[2 * index - 1] : 0, panels.extra_ends[2 * index]},
        extra_end{panels.extra_ends[2 * index], panels.extra_ends[2 * index + 1]} {}
};

#if HWY_TARGET > HWY_SSE4 || HWY_TARGET == HWY_SCALAR

template <int kRows, int kPanels, bool kAreWhole>
void multiply_bytes(const BytePanel* panels, const uint8_t* rows, int64_t quads,
                    const int32_t* initial, int32_t* sums) {
  const auto add = [&](int64_t r, int64_t half, int64_t quad, const int8_t* weights) {
    int32_t* const to = sums + r * kWidenedPanel + half * kHalfPanel;
    for (int64_t i = 0; i < kHalfPanel * 4; ++i)
      to[i / 4] += rows[(r % kRows * quads + quad) * 4 + i % 4] * weights[i];
  };
  for (int64_t r = 0; r < kPanels * kRows; ++r) {
    const BytePanel& panel = panels[r / kRows];
    std::copy_n(initial + r / kRows * kWidenedPanel, kWidenedPanel, sums + r * kWidenedPanel);
    for (int64_t half = 0; half < 2; ++half) {
      for (int64_t quad = 0; quad < quads; ++quad)
        add(r, half, quad, panel.weights + (quad * 2 + half) * kHalfPanel * 4);
      for (int64_t i = panel.extra_begin[half]; i < panel.extra_end[half]; ++i)
        add(r, half, panel.extra_quads[i], panel.extra_weights + i * kHalfPanel * 4);
    }
  }
}

#else

/// VPDPBUSD takes 5 cycles, two of which begin in each: with few sums each is split into parts.
constexpr int parts_of_sums(int sums) { return sums <= 2 ? 4 : sums <= 6 ? 2 : 1; }

/// Multiplies kRows rows, [kRows, quads, 4], by kPanels panels, which are BytePanels::are_whole or
/// not. `sums`: [kPanels, kRows, kWidenedPanel]; `initial`: [kPanels, kWidenedPanel], the value
/// that they start from.
template <int kRows, int kPanels, bool kAreWhole>
void multiply_bytes(const BytePanel* panels, const uint8_t* rows, int64_t quads,
                    const int32_t* initial, int32_t* sums) {
  constexpr int kVectors = kPanels * kVectorsOfPanel;
  constexpr int kSums = kRows * kVectors;
  constexpr int kParts = kAreWhole ? parts_of_sums(kSums) : 1;
  const I32 d32;
  const hn::Repartition<int16_t, I32> d16;
  const hn::Repartition<int8_t, I32> d8;
  const auto ones = hn::Set(d16, int16_t{1});
  V32I all[kParts * kSums];
  // Unrolled, here and below, so that the sums stay in registers.
#pragma GCC unroll 24
  for (int i = kSums; i < kParts * kSums; ++i) all[i] = hn::Zero(d32);
#pragma GCC unroll 24
  for (int i = 0; i < kSums; ++i) {
    const int panel = i / (kRows * kVectorsOfPanel);
    all[i] = hn::LoadU(d32, initial + panel * kWidenedPanel + i % kVectorsOfPanel * kLanes);
  }
  const auto quad_of = [&](int r, int64_t quad) HWY_ATTR {
    int32_t four = 0;
    std::memcpy(&four, rows + (r * quads + quad) * 4, sizeof(four));
    return hn::Set(d32, four);
  };
  // Vectors [first, end) of the panels to a part of the sums; numbers(r): of a row; load(v):
  // weights.
  const auto add = [&](int part, auto first, auto end, auto&& numbers, auto&& load) HWY_ATTR
      __attribute__((always_inline)) {
    hn::Vec<decltype(d8)> weights[kVectors];
#pragma GCC unroll 4
    for (int v = first; v < end; ++v) weights[v] = load(v);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const V32I x = numbers(r);
#pragma GCC unroll 4
      for (int v = first; v < end; ++v) {
        const int place = (v / kVectorsOfPanel * kRows + r) * kVectorsOfPanel + v % kVectorsOfPanel;
        V32I& sum = all[part * kSums + place];
        if constexpr (kAreWhole) {
          sum = V32I{add_quads_of_bytes(sum.raw, x.raw, weights[v].raw)};
        } else {
          const hn::Vec<decltype(d16)> pairs{add_pairs_of_bytes(x.raw, weights[v].raw)};
          auto unused = hn::Zero(d32);
          sum = hn::ReorderWidenMulAccumulate(d32, pairs, ones, sum, unused);
        }
      }
    }
  };
  const std::integral_constant<int, 0> first_vector;
  const std::integral_constant<int, kVectors> all_vectors;
  const auto add_quad = [&](int part, int64_t quad) HWY_ATTR __attribute__((always_inline)) {
    add(
        part, first_vector, all_vectors, [&](int r) HWY_ATTR { return quad_of(r, quad); },
        [&](int v) HWY_ATTR {
          const int8_t* weights = panels[v / kVectorsOfPanel].weights;
          return hn::LoadU(d8, weights + (quad * kWidenedPanel + v % kVectorsOfPanel * kLanes) * 4);
        });
  };
  int64_t first_quad = 0;
  for (; first_quad + kParts <= quads; first_quad += kParts) {
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) add_quad(part, first_quad + part);
  }
  for (; first_quad < quads; ++first_quad) add_quad(0, first_quad);
#pragma GCC unroll 24
  for (int i = kSums; i < kParts * kSums; ++i) all[i % kSums] = hn::Add(all[i % kSums], all[i]);
  const auto add_extras = [&](auto panel_index) HWY_ATTR {
    constexpr int kPanel = decltype(panel_index)::value;
    const BytePanel& panel = panels[kPanel];
    const auto weights_of = [&](int64_t extra) {
      return panel.extra_weights + extra * kHalfPanel * 4;
    };
    if constexpr (kVectorsOfPanel == 1) {
      // One extra quad of each half at once: the vector has source bytes of two quads.
      const std::integral_constant<int, kPanel> first;
      const std::integral_constant<int, kPanel + 1> end;
      const hn::Half<decltype(d8)> d_half;
      const auto is_second = hn::Not(hn::FirstN(d32, kHalfPanel));
      int64_t i = panel.extra_begin[0];
      int64_t j = panel.extra_begin[1];
      for (; i < panel.extra_end[0] || j < panel.extra_end[1]; ++i, ++j) {
        const bool has_first = i < panel.extra_end[0];
        const bool has_second = j < panel.extra_end[1];
        const int64_t quad = panel.extra_quads[has_first ? i : j];
        const int64_t other = panel.extra_quads[has_second ? j : i];
        const auto low = has_first ? hn::LoadU(d_half, weights_of(i)) : hn::Zero(d_half);
        const auto high = has_second ? hn::LoadU(d_half, weights_of(j)) : hn::Zero(d_half);
        const auto both = hn::Combine(d8, high, low);
        add(
            0, first, end,
            [&](int r)
                HWY_ATTR { return hn::IfThenElse(is_second, quad_of(r, other), quad_of(r, quad)); },
            [&](int) HWY_ATTR { return both; });
      }
    } else {
      const auto add_half = [&](auto half) HWY_ATTR {
        constexpr int kHalf = decltype(half)::value;
        constexpr int kFirst = kPanel * kVectorsOfPanel + kHalf * kVectorsOfPanel / 2;
        for (int64_t i = panel.extra_begin[kHalf]; i < panel.extra_end[kHalf]; ++i) {
          const int64_t quad = panel.extra_quads[i];
          const int8_t* weights = weights_of(i);
          add(
              0, std::integral_constant<int, kFirst>(),
              std::integral_constant<int, kFirst + kVectorsOfPanel / 2>(),
              [&](int r) HWY_ATTR { return quad_of(r, quad); },
              [&](int v) HWY_ATTR { return hn::LoadU(d8, weights + (v - kFirst) * kLanes * 4); });
        }
      };
      add_half(std::integral_constant<int, 0>());
      add_half(std::integral_constant<int, 1>());
    }
  };
  if constexpr (!kAreWhole) {
    add_extras(std::integral_constant<int, 0>());
    if constexpr (kPanels > 1) add_extras(std::integral_constant<int, 1>());
  }
#pragma GCC unroll 24
  for (int i = 0; i < kSums; ++i) hn::StoreU(all[i], d32, sums + i * kLanes);
}

#endif

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// SPDX-License-Identifier: Apache-2.0
#include "int8/widened.h"

#include <algorithm>
#include <cstring>

#include "int8/widened_positions.h"
#include "simd/instructions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "int8/widened.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "int8/widened_results-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

/// Rows of a tile: its sums take 12 registers of 16 or 32.
constexpr int kTileRows = kHasManyRegisters ? 12 : kLanes == 8 ? 6 : 3;

/// The whole vectors of `count` bytes as numbers of 16 bits, less `zero`; how many these are.
template <class Byte, class D16>
HWY_INLINE int64_t widen_vectors(D16 d, const Byte* from, int64_t count, int32_t zero,
                                 int16_t* to) {
  const hn::Rebind<Byte, D16> bytes;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto less = hn::Set(d, static_cast<int16_t>(zero));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Sub(hn::PromoteTo(d, hn::LoadU(bytes, from + i)), less), d, to + i);
  return i;
}

/// `count` bytes as numbers of 16 bits, less `zero`.
template <class Byte>
HWY_INLINE void widen(const uint8_t* from, int64_t count, int32_t zero, int16_t* to) {
  const auto* numbers = reinterpret_cast<const Byte*>(from);
  int64_t i = widen_vectors(hn::CappedTag<int16_t, 2 * kMostLanes>(), numbers, count, zero, to);
  const hn::CappedTag<int16_t, 8> few;
  i += widen_vectors(few, numbers + i, count - i, zero, to + i);
  const auto lanes = static_cast<int64_t>(hn::Lanes(few));
  if (i < count && count >= lanes) {  // the last ones, some of them once more
    i = count - lanes;
    i += widen_vectors(few, numbers + i, lanes, zero, to + i);
  }
  for (; i < count; ++i) to[i] = static_cast<int16_t>(numbers[i] - zero);
}

/// What the window of a place sees of a group's channels: [taps, channels], to an even number.
void gather_row(const WidenedConvolution& c, const uint8_t* source, int64_t place, int64_t group,
                int16_t* to) {
  const WidenedPosition at(c, source, place);
  const auto take = [&](const uint8_t* from, int64_t count) HWY_ATTR {
    if (!from) {
      std::fill_n(to, count, int16_t{0});
    } else if (c.is_signed) {
      widen<int8_t>(from + group * c.channels, count, c.source_zero, to);
    } else {
      widen<uint8_t>(from + group * c.channels, count, c.source_zero, to);
    }
    to += count;
  };
  const int64_t last = c.window[2] - 1;
  for (int64_t i = 0; i < c.window[0]; ++i) {
    for (int64_t j = 0; j < c.window[1]; ++j) {
      const uint8_t* first = at.tap(i, j, 0);
      if (c.groups == 1 && c.dilations[2] == 1 && first && at.tap(i, j, last)) {
        take(first, c.window[2] * c.channels);  // they stand next to each other
        continue;
      }
      for (int64_t k = 0; k <= last; ++k) take(at.tap(i, j, k), c.channels);
    }
  }
  if (c.taps() * c.channels % 2 != 0) *to = 0;
}

#if HWY_TARGET == HWY_SCALAR

template <int kRows>
void multiply_rows(const int8_t* panel, const int16_t* rows, int64_t pairs, int32_t* sums) {
  std::fill_n(sums, kRows * kWidenedPanel, 0);
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t k = 0; k < 2 * pairs; ++k) {
      for (int64_t i = 0; i < kWidenedPanel; ++i) {
        const int8_t weight = panel[(k / 2 * kWidenedPanel + i) * 2 + k % 2];
        sums[r * kWidenedPanel + i] += rows[r * 2 * pairs + k] * weight;
      }
    }
  }
}

#else

/// sum + a product of each pair of lanes and the one beside it. On x86 it is added where the pair
/// stands, and nothing to the second sum that Highway asks for.
template <class D32, class V16>
HWY_INLINE hn::Vec<D32> add_pairs(D32 d32, hn::Vec<D32> sum, V16 a, V16 b) {
  auto unused = hn::Zero(d32);
  return hn::ReorderWidenMulAccumulate(d32, a, b, sum, unused);
}

/// Sums of kRows rows, each of `pairs` pairs, with a panel of weights: [kRows, kWidenedPanel].
template <int kRows>
void multiply_rows(const int8_t* panel, const int16_t* rows, int64_t pairs, int32_t* sums) {
  const hn::Repartition<int16_t, I32> d16;
  const hn::Rebind<int8_t, decltype(d16)> d8;
  const I32 d32;
  V32I all[kRows * kVectorsOfPanel];
  for (V32I& sum : all) sum = hn::Zero(d32);
  for (int64_t pair = 0; pair < pairs; ++pair) {
    hn::Vec<decltype(d16)> weights[kVectorsOfPanel];
    for (int v = 0; v < kVectorsOfPanel; ++v) {
      weights[v] =
          hn::PromoteTo(d16, hn::LoadU(d8, panel + (pair * kWidenedPanel + v * kLanes) * 2));
    }
    for (int r = 0; r < kRows; ++r) {
      int32_t two = 0;
      std::memcpy(&two, rows + (r * pairs + pair) * 2, sizeof(two));
      const auto x = hn::BitCast(d16, hn::Set(d32, two));
      for (int v = 0; v < kVectorsOfPanel; ++v) {
        V32I& sum = all[r * kVectorsOfPanel + v];
        sum = add_pairs(d32, sum, x, weights[v]);
      }
    }
  }
  for (int i = 0; i < kRows * kVectorsOfPanel; ++i) hn::StoreU(all[i], d32, sums + i * kLanes);
}

#endif

/// A block of places and some panels of a group.
struct WidenedBlock {
  int64_t place;
  int64_t places;
  int64_t group;
  int64_t panel;
  int64_t panels;
};

void multiply_block(const WidenedConvolution& c, const WidenedTensors& tensors,
                    const WidenedBlock& block, int16_t* rows) {
  const int64_t pairs = c.pairs();
  for (int64_t r = 0; r < block.places; ++r)
    gather_row(c, tensors.source, block.place + r, block.group, rows + r * pairs * 2);
  HWY_ALIGN int32_t sums[kTileRows * kWidenedPanel];
  for (int64_t panel = block.panel; panel < block.panel + block.panels; ++panel) {
    const int64_t padded = block.group * c.panels() + panel;
    const int8_t* weights = c.weights + padded * pairs * kWidenedPanel * 2;
    const int64_t first = panel * kWidenedPanel;
    const int64_t count = std::min(kWidenedPanel, c.results - first);
    for (int64_t r = 0; r < block.places;) {
      const int16_t* from = rows + r * pairs * 2;
      const int64_t left = block.places - r;
      int64_t made = 1;
      if (left >= kTileRows) {
        multiply_rows<kTileRows>(weights, from, pairs, sums);
        made = kTileRows;
      } else if (left >= 3) {
        multiply_rows<3>(weights, from, pairs, sums);
        made = 3;
      } else {
        multiply_rows<1>(weights, from, pairs, sums);
      }
      for (int64_t i = 0; i < made; ++i, ++r) {
        const int64_t at = ((block.place + r) * c.groups + block.group) * c.results + first;
        finish_panel(c, tensors, sums + i * kWidenedPanel, padded * kWidenedPanel, at, count);
      }
    }
  }
}

/// Two taps of windows that each belong to a channel.
struct TwoTaps {
  const uint8_t* numbers[2];
  const int8_t* weights[2];
};

#if HWY_TARGET == HWY_SCALAR

template <class Byte>
void add_taps(const TwoTaps& taps, int32_t zero, int64_t channel, int32_t* sums) {
  for (int64_t i = channel; i < channel + kWidenedPanel; ++i) {
    for (int t = 0; t < 2; ++t)
      sums[i] += (static_cast<Byte>(taps.numbers[t][i]) - zero) * taps.weights[t][i];
  }
}

void put_in_order(const int32_t* sums, int32_t* ordered) {
  std::copy_n(sums, kWidenedPanel, ordered);
}

#else

/// Channels of a panel as vectors of 16 bits: one or two of them.
using D16 = hn::CappedTag<int16_t, kWidenedPanel>;

/// Adds their products to the sums of a panel's channels, which put_in_order() sorts.
template <class Byte>
HWY_INLINE void add_taps(const TwoTaps& taps, int32_t zero, int64_t channel, int32_t* sums) {
  const D16 d16;
  const hn::RepartitionToWide<D16> d32;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d16));
  const auto less = hn::Set(d16, static_cast<int16_t>(zero));
  const auto numbers = [&](int tap, int64_t at) HWY_ATTR {
    const auto* from = reinterpret_cast<const Byte*>(taps.numbers[tap]) + at;
    return hn::Sub(hn::PromoteTo(d16, hn::LoadU(hn::Rebind<Byte, D16>(), from)), less);
  };
  const auto weights = [&](int tap, int64_t at) HWY_ATTR {
    return hn::PromoteTo(d16, hn::LoadU(hn::Rebind<int8_t, D16>(), taps.weights[tap] + at));
  };
  for (int64_t at = channel; at < channel + kWidenedPanel; at += lanes) {
    const auto a = numbers(0, at);
    const auto b = numbers(1, at);
    const auto u = weights(0, at);
    const auto w = weights(1, at);
    int32_t* low = sums + at;
    int32_t* high = low + lanes / 2;
    hn::StoreU(add_pairs(d32, hn::LoadU(d32, low), hn::InterleaveLower(d16, a, b),
                         hn::InterleaveLower(d16, u, w)),
               d32, low);
    hn::StoreU(add_pairs(d32, hn::LoadU(d32, high), hn::InterleaveUpper(d16, a, b),
                         hn::InterleaveUpper(d16, u, w)),
               d32, high);
  }
}

/// Vectors were interleaved within each 16 bytes: four channels stand together, the lower four of
/// each eight in the first half of a vector's sums.
HWY_INLINE void put_in_order(const int32_t* sums, int32_t* ordered) {
  const hn::FixedTag<int32_t, 4> four;
  const auto lanes = static_cast<int64_t>(hn::Lanes(D16()));
  for (int64_t first = 0; first < kWidenedPanel; first += lanes) {
    for (int64_t i = 0; i < lanes / 2; i += 4) {
      hn::StoreU(hn::LoadU(four, sums + first + i), four, ordered + first + 2 * i);
      hn::StoreU(hn::LoadU(four, sums + first + lanes / 2 + i), four, ordered + first + 2 * i + 4);
    }
  }
}

#endif

/// All channels of a place, each with a window of its own. `sums`: [padded channels]; `padding`:
/// as many bytes of the number that stands for 0.
template <class Byte>
void multiply_place(const WidenedConvolution& c, const WidenedTensors& tensors, int64_t place,
                    int32_t* sums, const uint8_t* padding) {
  const WidenedPosition at(c, tensors.source, place);
  const int64_t padded = c.panels() * kWidenedPanel;
  const int64_t whole = c.groups / kWidenedPanel * kWidenedPanel;
  const auto rest = static_cast<size_t>(c.groups - whole);
  const auto tap = [&](int64_t t) {
    const int64_t plane = c.window[1] * c.window[2];
    const uint8_t* from =
        t < c.taps() ? at.tap(t / plane, t / c.window[2] % c.window[1], t % c.window[2]) : nullptr;
    return from ? from : padding;
  };
  std::fill_n(sums, padded, 0);
  for (int64_t t = 0; t < c.taps(); t += 2) {
    TwoTaps taps{{tap(t), tap(t + 1)}, {c.weights + t * padded, c.weights + (t + 1) * padded}};
    if (taps.numbers[0] == padding && taps.numbers[1] == padding) continue;
    for (int64_t channel = 0; channel < whole; channel += kWidenedPanel)
      add_taps<Byte>(taps, c.source_zero, channel, sums);
    if (rest == 0) continue;
    uint8_t last[2][kWidenedPanel] = {};  // nothing beyond the tensor is read
    for (int i = 0; i < 2; ++i) {
      std::memcpy(last[i], taps.numbers[i] + whole, rest);
      taps.numbers[i] = last[i];
      taps.weights[i] += whole;
    }
    add_taps<Byte>(taps, c.source_zero, 0, sums + whole);
  }
  HWY_ALIGN int32_t ordered[kWidenedPanel];
  for (int64_t first = 0; first < c.groups; first += kWidenedPanel) {
    put_in_order(sums + first, ordered);
    finish_panel(c, tensors, ordered, first, place * c.groups + first,
                 std::min(kWidenedPanel, c.groups - first));
  }
}

/// Places [first, first + count) of windows that each belong to a channel.
void multiply_places(const WidenedConvolution& c, const WidenedTensors& tensors, int64_t first,
                     int64_t count, int16_t* scratch) {
  const int64_t padded = c.panels() * kWidenedPanel;
  auto* sums = reinterpret_cast<int32_t*>(scratch);
  auto* padding = reinterpret_cast<uint8_t*>(sums + padded);
  std::fill_n(padding, padded, static_cast<uint8_t>(c.source_zero));
  const auto multiply = c.is_signed ? multiply_place<int8_t> : multiply_place<uint8_t>;
  for (int64_t place = first; place < first + count; ++place)
    multiply(c, tensors, place, sums, padding);
}

void convolve_widened_here(const WidenedConvolution& c, const WidenedTensors& tensors,
                           int64_t begin, int64_t end, int16_t* scratch) {
  const WidenedTasks tasks(c, tensors.places);
  for (int64_t task = begin; task < end; ++task) {
    const int64_t place = task / tasks.parts * tasks.places;
    const int64_t count = std::min(tasks.places, tensors.places - place);
    if (c.is_depthwise()) {
      multiply_places(c, tensors, place, count, scratch);
      continue;
    }
    const int64_t part = task % tasks.parts;
    const int64_t panel = part % tasks.stretches * kWidenedPanelsOfTask;
    multiply_block(c, tensors,
                   {place, count, part / tasks.stretches, panel,
                    std::min(kWidenedPanelsOfTask, c.panels() - panel)},
                   scratch);
  }
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::x86 {

HWY_EXPORT(convolve_widened_here);

int64_t widened_tasks_of(const WidenedConvolution& convolution, int64_t places) {
  return WidenedTasks(convolution, places).count;
}

int64_t widened_scratch_of(const WidenedConvolution& convolution) {
  // Rows of numbers, or sums of 32 bits and a row of bytes for the padding.
  return convolution.is_depthwise() ? 3 * convolution.panels() * kWidenedPanel
                                    : widened_positions_of(convolution) * convolution.pairs() * 2;
}

void convolve_widened(const WidenedConvolution& convolution, const uint8_t* source,
                      const uint8_t* addend, void* target, int64_t places, int64_t begin,
                      int64_t end, int16_t* scratch) {
  keep_to_allowed_instructions();
  const WidenedTensors tensors{source, addend, static_cast<uint8_t*>(target), places};
  HWY_DYNAMIC_DISPATCH(convolve_widened_here)(convolution, tensors, begin, end, scratch);
}

}  // namespace gantry::x86
#endif

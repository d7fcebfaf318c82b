// SPDX-License-Identifier: Apache-2.0
#include "int8/widened.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "int8/widened_positions.h"
#include "simd/instructions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "int8/widened.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "int8/byte_rows-inl.h"
#include "int8/widened_results-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

/// Rows of a tile. Beside its sums there are a panel, a row's number and products in the registers.
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

/// Calls take(from, count) for what the window of a place sees of a group's channels, in the order
/// [taps, channels], as much at once as stands together; `from` null: it is padding.
template <class Take>
HWY_INLINE void for_each_stretch(const WidenedConvolution& c, const uint8_t* source, int64_t place,
                                 int64_t group, Take&& take_stretch) {
  const WidenedPosition at(c, source, place);
  const auto take = [&](const uint8_t* from, int64_t count) HWY_ATTR {
    take_stretch(from ? from + group * c.channels : nullptr, count);
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
}

/// A row of words, less the zero point, to an even number.
void gather_row(const WidenedConvolution& c, const uint8_t* source, int64_t place, int64_t group,
                int16_t* to) {
  for_each_stretch(c, source, place, group, [&](const uint8_t* from, int64_t count) HWY_ATTR {
    if (!from) {
      std::fill_n(to, count, int16_t{0});
    } else if (c.is_signed) {
      widen<int8_t>(from, count, c.source_zero, to);
    } else {
      widen<uint8_t>(from, count, c.source_zero, to);
    }
    to += count;
  });
  if (c.taps() * c.channels % 2 != 0) *to = 0;
}

/// The number that stands for 0 in a row of bytes, which are unsigned: 128 is added to signed ones.
int32_t zero_byte(const WidenedConvolution& c) { return c.source_zero + (c.is_signed ? 128 : 0); }

/// A row of bytes, to a multiple of four.
void gather_bytes(const WidenedConvolution& c, const uint8_t* source, int64_t place, int64_t group,
                  uint8_t* to) {
  constexpr uint8_t kSign = 0x80;
  const uint8_t* const end = to + c.quads() * 4;
  for_each_stretch(c, source, place, group, [&](const uint8_t* from, int64_t count) HWY_ATTR {
    if (!from) {
      std::fill_n(to, count, static_cast<uint8_t>(zero_byte(c)));
    } else if (c.is_signed) {
      for (int64_t i = 0; i < count; ++i) to[i] = from[i] ^ kSign;
    } else {
      std::memcpy(to, from, static_cast<size_t>(count));
    }
    to += count;
  });
  std::fill_n(to, end - to, uint8_t{0});
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
  // Unrolled, here and at the end, so that the sums stay in registers.
#pragma GCC unroll 24
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
#pragma GCC unroll 24
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

/// Rows of a tile where there are too few for a whole one.
constexpr int kFewRows = 3;

/// Calls multiply(count, row, sums) for as many rows at once as there is code for, kMost, kFewRows
/// or 1, and stores what becomes of the sums. `panel`: of the group.
template <int kMost, class Multiply>
HWY_INLINE void multiply_panel(const WidenedConvolution& c, const WidenedTensors& tensors,
                               const WidenedBlock& block, int64_t panel, Multiply&& multiply) {
  HWY_ALIGN int32_t sums[kMost * kWidenedPanel];
  const int64_t padded = block.group * c.panels() + panel;
  const int64_t first = panel * kWidenedPanel;
  const int64_t count = std::min(kWidenedPanel, c.results - first);
  for (int64_t r = 0; r < block.places;) {
    const int64_t left = block.places - r;
    int64_t made = 0;
    const auto take = [&](auto count) HWY_ATTR {
      made = count;
      multiply(count, r, sums);
    };
    if (left >= kMost) {
      take(std::integral_constant<int, kMost>());
    } else if (left < kFewRows) {
      take(std::integral_constant<int, 1>());
    } else if constexpr (kMost > kFewRows) {
      take(std::integral_constant<int, kFewRows>());
    }
    for (int64_t i = 0; i < made; ++i, ++r) {
      const int64_t at = ((block.place + r) * c.groups + block.group) * c.results + first;
      finish_panel(c, tensors, sums + i * kWidenedPanel, padded * kWidenedPanel, at, count);
    }
  }
}

void multiply_words_of_block(const WidenedConvolution& c, const WidenedTensors& tensors,
                             const WidenedBlock& block, int16_t* rows) {
  const int64_t pairs = c.pairs();
  for (int64_t r = 0; r < block.places; ++r)
    gather_row(c, tensors.source, block.place + r, block.group, rows + r * pairs * 2);
  for (int64_t panel = block.panel; panel < block.panel + block.panels; ++panel) {
    const int64_t padded = block.group * c.panels() + panel;
    const int8_t* weights = c.weights + padded * pairs * kWidenedPanel * 2;
    multiply_panel<kTileRows>(
        c, tensors, block, panel, [&](auto count, int64_t r, int32_t* sums) HWY_ATTR {
          multiply_rows<decltype(count)::value>(weights, rows + r * pairs * 2, pairs, sums);
        });
  }
}

void multiply_bytes_of_block(const WidenedConvolution& c, const WidenedTensors& tensors,
                             const WidenedBlock& block, uint8_t* rows) {
  const int64_t quads = c.quads();
  for (int64_t r = 0; r < block.places; ++r)
    gather_bytes(c, tensors.source, block.place + r, block.group, rows + r * quads * 4);
  for (int64_t panel = block.panel; panel < block.panel + block.panels; ++panel) {
    const int64_t padded = block.group * c.panels() + panel;
    const BytePanel weights(c.bytes, padded, quads);
    int32_t initial[kWidenedPanel];
    for (int64_t i = 0; i < kWidenedPanel; ++i)
      initial[i] = -zero_byte(c) * c.bytes.sums[padded * kWidenedPanel + i];
    multiply_panel<kByteRows>(c, tensors, block, panel,
                              [&](auto count, int64_t r, int32_t* sums) HWY_ATTR {
                                multiply_bytes<decltype(count)::value>(
                                    weights, rows + r * quads * 4, quads, initial, sums);
                              });
  }
}

/// What a place is made of where each channel has a window of its own.
struct ChannelWindows {
  const uint8_t** taps;  ///< [2 * pairs], of the channels' numbers
  int64_t pairs;
  const int32_t* initial;  ///< of the sums, [padded channels]
};

#if HWY_TARGET == HWY_SCALAR

/// Sums of a panel's channels, the first of which is `channel`. `weights`: of the panel.
template <class Byte>
void multiply_channels(const ChannelWindows& windows, int64_t channel, const int8_t* weights,
                       const int32_t* initial, int32_t* sums) {
  for (int64_t i = 0; i < kWidenedPanel; ++i) {
    sums[i] = initial[i];
    for (int64_t t = 0; t < 2 * windows.pairs; ++t) {
      sums[i] += static_cast<Byte>(windows.taps[t][channel + i]) *
                 weights[(t / 2 * kWidenedPanel + i) * 2 + t % 2];
    }
  }
}

#else

/// The `v`th 2 * kLanes of the 32 bytes that `low` and `high` are, as numbers of 16 bits.
template <class D16, class V8>
HWY_INLINE hn::Vec<D16> widen_part(D16 d16, V8 low, V8 high, int v) {
  using Byte = hn::TFromV<V8>;
  const hn::Rebind<Byte, D16> bytes;
  if constexpr (kLanes == 16) {
    return hn::PromoteTo(d16, hn::Combine(bytes, high, low));
  } else if constexpr (kLanes == 8) {
    return hn::PromoteTo(d16, v == 0 ? low : high);
  } else {
    const V8 half = v / 2 == 0 ? low : high;
    return hn::PromoteTo(d16, v % 2 == 0 ? hn::LowerHalf(bytes, half) : hn::UpperHalf(bytes, half));
  }
}

/// Sums of a panel's channels, the first of which is `channel`. `weights`: of the panel.
template <class Byte>
HWY_INLINE void multiply_channels(const ChannelWindows& windows, int64_t channel,
                                  const int8_t* weights, const int32_t* initial, int32_t* sums) {
  const hn::Repartition<int16_t, I32> d16;
  const hn::Rebind<int8_t, decltype(d16)> d8;
  const hn::FixedTag<Byte, kWidenedPanel> d_panel;
  const I32 d32;
  V32I all[kVectorsOfPanel];
#pragma GCC unroll 4
  for (int v = 0; v < kVectorsOfPanel; ++v) all[v] = hn::LoadU(d32, initial + v * kLanes);
  for (int64_t pair = 0; pair < windows.pairs; ++pair) {
    const auto* first = reinterpret_cast<const Byte*>(windows.taps[2 * pair] + channel);
    const auto* second = reinterpret_cast<const Byte*>(windows.taps[2 * pair + 1] + channel);
    const auto a = hn::LoadU(d_panel, first);
    const auto b = hn::LoadU(d_panel, second);
    const auto low = hn::InterleaveLower(d_panel, a, b);
    const auto high = hn::InterleaveUpper(d_panel, a, b);
#pragma GCC unroll 4
    for (int v = 0; v < kVectorsOfPanel; ++v) {
      const auto* from = weights + (pair * kWidenedPanel + v * kLanes) * 2;
      all[v] = add_pairs(d32, all[v], widen_part(d16, low, high, v),
                         hn::PromoteTo(d16, hn::LoadU(d8, from)));
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectorsOfPanel; ++v) hn::StoreU(all[v], d32, sums + v * kLanes);
}

#endif

/// What `zero` in place of 0 adds to the sums of all channels, taken away: [padded channels].
void subtract_zeros(const WidenedConvolution& c, int32_t* initial) {
  std::fill_n(initial, c.panels() * kWidenedPanel, 0);
  if (c.source_zero == 0) return;
  for (int64_t panel = 0; panel < c.panels(); ++panel) {
    const int8_t* weights = c.weights + panel * c.pairs() * kWidenedPanel * 2;
    for (int64_t pair = 0; pair < c.pairs(); ++pair) {
      for (int64_t i = 0; i < kWidenedPanel; ++i) {
        const int8_t* both = weights + (pair * kWidenedPanel + i) * 2;
        initial[panel * kWidenedPanel + i] -= c.source_zero * (both[0] + both[1]);
      }
    }
  }
}

/// All channels of a place. `padding`: a row of the number that stands for 0; `last`: room for
/// [2 * pairs, kWidenedPanel] bytes.
template <class Byte>
void multiply_place(const WidenedConvolution& c, const WidenedTensors& tensors, int64_t place,
                    const ChannelWindows& windows, const uint8_t* padding, uint8_t* last) {
  const WidenedPosition at(c, tensors.source, place);
  int64_t t = 0;
  for (int64_t i = 0; i < c.window[0]; ++i) {
    for (int64_t j = 0; j < c.window[1]; ++j) {
      for (int64_t k = 0; k < c.window[2]; ++k, ++t) {
        const uint8_t* from = at.tap(i, j, k);
        windows.taps[t] = from ? from : padding;
      }
    }
  }
  if (t < 2 * windows.pairs) windows.taps[t] = padding;  // of weights that are zeros
  HWY_ALIGN int32_t sums[kWidenedPanel];
  for (int64_t first = 0; first < c.groups; first += kWidenedPanel) {
    const int64_t count = std::min(kWidenedPanel, c.groups - first);
    int64_t channel = first;
    if (count < kWidenedPanel) {  // nothing beyond the tensor is read
      for (t = 0; t < 2 * windows.pairs; ++t) {
        uint8_t* to = last + t * kWidenedPanel;
        std::memcpy(to, windows.taps[t] + first, static_cast<size_t>(count));
        windows.taps[t] = to;
      }
      channel = 0;
    }
    multiply_channels<Byte>(windows, channel, c.weights + first * windows.pairs * 2,
                            windows.initial + first, sums);
    finish_panel(c, tensors, sums, first, place * c.groups + first, count);
  }
}

/// Places [first, first + count) of windows that each belong to a channel.
void multiply_places(const WidenedConvolution& c, const WidenedTensors& tensors, int64_t first,
                     int64_t count, const ChannelWindows& windows, uint8_t* bytes) {
  const int64_t padded = c.panels() * kWidenedPanel;
  const auto multiply = c.is_signed ? multiply_place<int8_t> : multiply_place<uint8_t>;
  for (int64_t place = first; place < first + count; ++place)
    multiply(c, tensors, place, windows, bytes, bytes + padded);
}

void convolve_widened_here(const WidenedConvolution& c, const WidenedTensors& tensors,
                           int64_t begin, int64_t end, int16_t* scratch) {
  const WidenedTasks tasks(c, tensors.places);
  ChannelWindows windows = {};
  uint8_t* bytes = nullptr;
  if (c.is_depthwise()) {  // as widened_scratch_of() has counted
    const int64_t padded = c.panels() * kWidenedPanel;
    windows.taps = reinterpret_cast<const uint8_t**>(scratch);
    windows.pairs = c.pairs();
    auto* initial = reinterpret_cast<int32_t*>(windows.taps + 2 * windows.pairs);
    windows.initial = initial;
    subtract_zeros(c, initial);
    bytes = reinterpret_cast<uint8_t*>(initial + padded);
    std::fill_n(bytes, padded, static_cast<uint8_t>(c.source_zero));
  }
  for (int64_t task = begin; task < end; ++task) {
    const int64_t place = task / tasks.parts * tasks.places;
    const int64_t count = std::min(tasks.places, tensors.places - place);
    if (c.is_depthwise()) {
      multiply_places(c, tensors, place, count, windows, bytes);
      continue;
    }
    const int64_t part = task % tasks.parts;
    const int64_t panel = part % tasks.stretches * kWidenedPanelsOfTask;
    const WidenedBlock block{place, count, part / tasks.stretches, panel,
                             std::min(kWidenedPanelsOfTask, c.panels() - panel)};
    if (c.bytes.weights) {
      multiply_bytes_of_block(c, tensors, block, reinterpret_cast<uint8_t*>(scratch));
    } else {
      multiply_words_of_block(c, tensors, block, scratch);
    }
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
  if (!convolution.is_depthwise()) {
    return widened_positions_of(convolution) * convolution.pairs() * 2;
  }
  // Taps, sums of 32 bits, a row of bytes for the padding, and one panel of all taps.
  const int64_t taps = 2 * convolution.pairs();
  const int64_t padded = convolution.panels() * kWidenedPanel;
  const auto size_bytes = taps * static_cast<int64_t>(sizeof(uint8_t*)) +
                          padded * static_cast<int64_t>(sizeof(int32_t)) + padded +
                          taps * kWidenedPanel;
  return (size_bytes + kWidenedPanel - 1) / kWidenedPanel * kWidenedPanel /
         static_cast<int64_t>(sizeof(int16_t));
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

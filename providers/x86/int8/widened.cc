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
#include "int8/depthwise_windows-inl.h"
#include "int8/widened_results-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

/// Rows of a tile: its sums, a vector of each panel, a source element and products fill the
/// registers.
constexpr int kTileRows = kHasManyRegisters ? 12 : kLanes == 8 ? 6 : 3;

/// A task: some target pixels and some panels of a group.
struct WidenedBlock {
  int64_t position;
  int64_t positions;
  int64_t group;
  int64_t panel;
  int64_t panels;
};

/// Widens the whole vectors of `count` bytes to int16, less `zero`. Returns the number of elements.
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

/// Widens `count` bytes to int16, less `zero`.
template <class Byte>
HWY_INLINE void widen(const uint8_t* from, int64_t count, int32_t zero, int16_t* to) {
  const auto* numbers = reinterpret_cast<const Byte*>(from);
  int64_t i = widen_vectors(hn::CappedTag<int16_t, 2 * kMostLanes>(), numbers, count, zero, to);
  const hn::CappedTag<int16_t, 8> few;
  i += widen_vectors(few, numbers + i, count - i, zero, to + i);
  const auto lanes = static_cast<int64_t>(hn::Lanes(few));
  if (i < count && count >= lanes) {  // the last vector overlaps the one before
    i = count - lanes;
    i += widen_vectors(few, numbers + i, lanes, zero, to + i);
  }
  for (; i < count; ++i) to[i] = static_cast<int16_t>(numbers[i] - zero);
}

/// Calls take(from, count) for each contiguous run of a group's channels under the window, in the
/// order [taps, channels]; `from` null: padding.
template <class Take>
HWY_INLINE void for_each_stretch(const WidenedConvolution& c, const WidenedPosition& at,
                                 int64_t group, Take&& take_stretch) {
  const auto take = [&](const uint8_t* from, int64_t count) HWY_ATTR {
    take_stretch(from ? from + group * c.channels : nullptr, count);
  };
  const int64_t last = c.window[2] - 1;
  for (int64_t i = 0; i < c.window[0]; ++i) {
    for (int64_t j = 0; j < c.window[1]; ++j) {
      const uint8_t* first = at.tap(i, j, 0);
      if (c.groups == 1 && c.dilations[2] == 1 && first && at.tap(i, j, last)) {
        take(first, c.window[2] * c.channels);  // contiguous
        continue;
      }
      for (int64_t k = 0; k <= last; ++k) take(at.tap(i, j, k), c.channels);
    }
  }
}

/// Gathers a row widened to int16, less the zero point, padded to an even number of elements.
void gather_row(const WidenedConvolution& c, const WidenedPosition& at, int64_t group,
                int16_t* to) {
  for_each_stretch(c, at, group, [&](const uint8_t* from, int64_t count) HWY_ATTR {
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

/// Gathers all rows of a block. The rows of a matmul are consecutive in the source.
void gather_rows(const WidenedConvolution& c, const WidenedTensors& tensors,
                 const WidenedBlock& block, int16_t* to) {
  WidenedPosition at(c, tensors.source, block.position);
  if (c.is_product() && c.channels % 2 == 0) {
    const uint8_t* from = at.first_tap();
    const int64_t count = block.positions * c.channels;
    c.is_signed ? widen<int8_t>(from, count, c.source_zero, to)
                : widen<uint8_t>(from, count, c.source_zero, to);
    return;
  }
  for (int64_t r = 0; r < block.positions; ++r, at.next())
    gather_row(c, at, block.group, to + r * c.pairs() * 2);
}

/// The zero point of a row of bytes, which are unsigned: 128 is added to s8.
int32_t zero_byte(const WidenedConvolution& c) { return c.source_zero + (c.is_signed ? 128 : 0); }

/// Gathers a row as u8, padded to a multiple of four.
void gather_bytes(const WidenedConvolution& c, const WidenedPosition& at, int64_t group,
                  uint8_t* to) {
  constexpr uint8_t kSign = 0x80;
  const uint8_t* const end = to + c.quads() * 4;
  for_each_stretch(c, at, group, [&](const uint8_t* from, int64_t count) HWY_ATTR {
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

/// All rows of a block as u8: the source itself, or copies in `scratch`.
const uint8_t* gather_rows_of_bytes(const WidenedConvolution& c, const WidenedTensors& tensors,
                                    const WidenedBlock& block, uint8_t* scratch) {
  WidenedPosition at(c, tensors.source, block.position);
  if (c.is_product() && c.channels % 4 == 0 && !c.is_signed) return at.first_tap();
  for (int64_t r = 0; r < block.positions; ++r, at.next())
    gather_bytes(c, at, block.group, scratch + r * c.quads() * 4);
  return scratch;
}

#if HWY_TARGET == HWY_SCALAR

template <int kRows, int kPanels>
void multiply_rows(const int8_t* panels, const int16_t* rows, int64_t pairs, int32_t* sums) {
  std::fill_n(sums, kPanels * kRows * kWidenedPanel, 0);
  for (int64_t r = 0; r < kPanels * kRows; ++r) {
    const int8_t* panel = panels + r / kRows * pairs * kWidenedPanel * 2;
    for (int64_t k = 0; k < 2 * pairs; ++k) {
      for (int64_t i = 0; i < kWidenedPanel; ++i) {
        const int8_t weight = panel[(k / 2 * kWidenedPanel + i) * 2 + k % 2];
        sums[r * kWidenedPanel + i] += rows[r % kRows * 2 * pairs + k] * weight;
      }
    }
  }
}

#else

/// Multiplies kRows rows of `pairs` pairs by kPanels consecutive panels. `sums`: [kPanels, kRows,
/// kWidenedPanel].
template <int kRows, int kPanels>
void multiply_rows(const int8_t* panels, const int16_t* rows, int64_t pairs, int32_t* sums) {
  constexpr int kVectors = kPanels * kVectorsOfPanel;
  const hn::Repartition<int16_t, I32> d16;
  const hn::Rebind<int8_t, decltype(d16)> d8;
  const I32 d32;
  V32I all[kVectors * kRows];
  // Unrolled, here and below, so that the sums stay in registers.
#pragma GCC unroll 24
  for (V32I& sum : all) sum = hn::Zero(d32);
  for (int64_t pair = 0; pair < pairs; ++pair) {
    hn::Vec<decltype(d16)> weights[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const int64_t panel = v / kVectorsOfPanel * pairs * kWidenedPanel;
      const int64_t first = pair * kWidenedPanel + v % kVectorsOfPanel * kLanes;
      weights[v] = hn::PromoteTo(d16, hn::LoadU(d8, panels + (panel + first) * 2));
    }
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      int32_t two = 0;
      std::memcpy(&two, rows + (r * pairs + pair) * 2, sizeof(two));
      const auto x = hn::BitCast(d16, hn::Set(d32, two));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        V32I& sum = all[v / kVectorsOfPanel * kRows * kVectorsOfPanel + r * kVectorsOfPanel +
                        v % kVectorsOfPanel];
        sum = add_pairs(d32, sum, x, weights[v]);
      }
    }
  }
#pragma GCC unroll 24
  for (int i = 0; i < kRows * kVectors; ++i) hn::StoreU(all[i], d32, sums + i * kLanes);
}

#endif

/// Rows of a tile if fewer than kTileRows are left.
constexpr int kFewRows = 3;

/// Calls multiply(rows, panels, row, sums) for kMost, kFewRows or 1 rows at once, until all rows
/// are done, and finishes the sums. `panel`: the first one, of the group.
template <int kMost, int kPanels, class Multiply>
HWY_INLINE void multiply_panels(const WidenedConvolution& c, const WidenedTensors& tensors,
                                const WidenedBlock& block, int64_t panel, Multiply&& multiply) {
  HWY_ALIGN int32_t sums[kMost * kPanels * kWidenedPanel];
  const std::integral_constant<int, kPanels> panels;
  const int64_t step = c.groups * c.results;
  for (int64_t r = 0; r < block.positions;) {
    const int64_t left = block.positions - r;
    int64_t made = 0;
    const auto take = [&](auto rows) HWY_ATTR {
      made = rows;
      multiply(rows, panels, r, sums);
    };
    if (left >= kMost) {
      take(std::integral_constant<int, kMost>());
    } else if (left < kFewRows) {
      take(std::integral_constant<int, 1>());
    } else if constexpr (kMost > kFewRows) {
      take(std::integral_constant<int, kFewRows>());
    }
    for (int64_t p = panel; p < panel + kPanels; ++p) {
      const int64_t first = p * kWidenedPanel;
      const auto finish = [&](auto rows, int64_t i) HWY_ATTR {
        finish_rows<decltype(rows)::value>(
            c, tensors, sums + ((p - panel) * made + i) * kWidenedPanel,
            (block.group * c.panels() + p) * kWidenedPanel,
            (block.position + r + i) * step + block.group * c.results + first, step,
            std::min(kWidenedPanel, c.results - first));
      };
      int64_t i = 0;
      for (; i + kRowsOfStore <= made; i += kRowsOfStore)
        finish(std::integral_constant<int, kRowsOfStore>(), i);
      for (; i < made; ++i) finish(std::integral_constant<int, 1>(), i);
    }
    r += made;
  }
}

/// The same for all panels of a block, kPanelsOfTile of them at once, with multiply(rows, panels,
/// panel, row, sums).
template <int kMost, class Multiply>
HWY_INLINE void multiply_block(const WidenedConvolution& c, const WidenedTensors& tensors,
                               const WidenedBlock& block, Multiply&& multiply) {
  const int64_t end = block.panel + block.panels;
  int64_t panel = block.panel;
  const auto with = [&](auto rows, auto panels, int64_t r, int32_t* sums)
                        HWY_ATTR { multiply(rows, panels, panel, r, sums); };
  for (; panel + kPanelsOfTile <= end; panel += kPanelsOfTile)
    multiply_panels<kMost, kPanelsOfTile>(c, tensors, block, panel, with);
  for (; panel < end; ++panel) multiply_panels<kMost, 1>(c, tensors, block, panel, with);
}

void multiply_words_of_block(const WidenedConvolution& c, const WidenedTensors& tensors,
                             const WidenedBlock& block, int16_t* rows) {
  const int64_t pairs = c.pairs();
  gather_rows(c, tensors, block, rows);
  multiply_block<kTileRows>(
      c, tensors, block,
      [&](auto count, auto panels, int64_t panel, int64_t r, int32_t* sums) HWY_ATTR {
        const int64_t padded = block.group * c.panels() + panel;
        multiply_rows<decltype(count)::value, decltype(panels)::value>(
            c.weights + padded * pairs * kWidenedPanel * 2, rows + r * pairs * 2, pairs, sums);
      });
}

template <bool kAreWhole>
void multiply_bytes_of_block(const WidenedConvolution& c, const WidenedTensors& tensors,
                             const WidenedBlock& block, uint8_t* scratch) {
  const int64_t quads = c.quads();
  const uint8_t* rows = gather_rows_of_bytes(c, tensors, block, scratch);
  multiply_block<kByteRows>(
      c, tensors, block,
      [&](auto count, auto panels, int64_t panel, int64_t r, int32_t* sums) HWY_ATTR {
        constexpr int kPanels = decltype(panels)::value;
        const int64_t padded = block.group * c.panels() + panel;
        BytePanel weights[kPanels];
        int32_t initial[kPanels * kWidenedPanel];
        for (int p = 0; p < kPanels; ++p) weights[p] = BytePanel(c.bytes, padded + p, quads);
        for (int64_t i = 0; i < kPanels * kWidenedPanel; ++i)
          initial[i] = -zero_byte(c) * c.bytes.sums[padded * kWidenedPanel + i];
        multiply_bytes<decltype(count)::value, kPanels, kAreWhole>(weights, rows + r * quads * 4,
                                                                   quads, initial, sums);
      });
}

void convolve_widened_here(const WidenedConvolution& c, const WidenedTensors& tensors,
                           int64_t begin, int64_t end, int16_t* scratch) {
  const WidenedTasks tasks(c, tensors.positions);
  const DepthwiseWindows windows =
      c.is_depthwise() ? prepare_windows(c, scratch) : DepthwiseWindows{};
  for (int64_t task = begin; task < end; ++task) {
    const int64_t position = task / tasks.parts * tasks.positions;
    const int64_t count = std::min(tasks.positions, tensors.positions - position);
    if (c.is_depthwise()) {
      if (c.is_signed) {
        multiply_positions<int8_t>(c, tensors, position, count, windows);
      } else {
        multiply_positions<uint8_t>(c, tensors, position, count, windows);
      }
      continue;
    }
    const int64_t part = task % tasks.parts;
    const int64_t panel = part % tasks.stretches * kWidenedPanelsOfTask;
    const WidenedBlock block{position, count, part / tasks.stretches, panel,
                             std::min(kWidenedPanelsOfTask, c.panels() - panel)};
    auto* const bytes = reinterpret_cast<uint8_t*>(scratch);
    if (!c.bytes.weights) {
      multiply_words_of_block(c, tensors, block, scratch);
    } else if (c.bytes.are_whole) {
      multiply_bytes_of_block<kMayHaveQuadSums>(c, tensors, block, bytes);
    } else {
      multiply_bytes_of_block<false>(c, tensors, block, bytes);
    }
  }
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::x86 {

HWY_EXPORT(convolve_widened_here);

int64_t widened_tasks_of(const WidenedConvolution& convolution, int64_t positions) {
  return WidenedTasks(convolution, positions).count;
}

int64_t widened_scratch_of(const WidenedConvolution& convolution) {
  if (!convolution.is_depthwise()) {
    return widened_positions_of(convolution) * convolution.pairs() * 2;
  }
  const auto size = static_cast<int64_t>(sizeof(int16_t));
  return (depthwise_windows_bytes(convolution) + kWidenedPanel - 1) / kWidenedPanel *
         kWidenedPanel / size;
}

void convolve_widened(const WidenedConvolution& convolution, const uint8_t* source,
                      const uint8_t* addend, void* target, int64_t positions, int64_t begin,
                      int64_t end, int16_t* scratch) {
  keep_to_allowed_instructions();
  const WidenedTensors tensors{source, addend, static_cast<uint8_t*>(target), positions};
  HWY_DYNAMIC_DISPATCH(convolve_widened_here)(convolution, tensors, begin, end, scratch);
}

}  // namespace gantry::x86
#endif

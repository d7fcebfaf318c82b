// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <immintrin.h>
#include <utility>

#include "int8/results_avx512.h"
#include "int8/vnni.h"

namespace gantry::x86 {
namespace {

constexpr int kMostVectors = kPanelChannels / kVectorChannels;
constexpr int kMostRows = 12;
constexpr int64_t kLine = 64;  // bytes of a cache line

/// Pixels of a tile with `vectors` vectors of channels: the sums take 24 of 32 registers.
constexpr int64_t rows_for(int64_t vectors) {
  constexpr std::array<int64_t, 4> kRows = {12, 12, 8, 6};
  return kRows[static_cast<size_t>(vectors) - 1];
}

/// Operands of a tile.
struct Position {
  const uint8_t* source;  // the first image
  const uint8_t* addend;  // of the tile's first result; null: none
  uint8_t* target;        // the tile's first result
  int64_t pixel;          // the tile's first pixel
  int64_t channel;        // the tile's first channel of the target
  const int8_t* weights;
  const int8_t* ahead;  // weights to prefetch
  int64_t ahead_bytes;
};

using Pixels = const uint8_t* [kMostTaps][kMostRows];

/// Finds the source pixel of each tap of each row.
void find_pixels(const VnniConvolution& c, const Position& at, int64_t rows, Pixels& pixels) {
  if (c.is_plain()) {
    for (int64_t r = 0; r < rows; ++r) pixels[0][r] = at.source + (at.pixel + r) * c.channels;
    return;
  }
  const auto width = static_cast<uint32_t>(c.target[1]);  // 32-bit division is faster
  const auto height = static_cast<uint32_t>(c.target[0]);
  const auto line = static_cast<uint32_t>(at.pixel) / width;
  int64_t x = static_cast<uint32_t>(at.pixel) % width;
  int64_t y = line % height;
  int64_t image = line / height;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t top = y * c.strides[0] - c.pads[0];
    const int64_t left = x * c.strides[1] - c.pads[1];
    const uint8_t* first =
        at.source + ((image * c.source[0] + top) * c.source[1] + left) * c.channels;
    int64_t tap = 0;
    for (int64_t i = 0; i < c.window[0]; ++i) {
      const int64_t dy = i * c.dilations[0];
      for (int64_t j = 0; j < c.window[1]; ++j) {
        const int64_t dx = j * c.dilations[1];
        const bool is_there =
            top + dy >= 0 && top + dy < c.source[0] && left + dx >= 0 && left + dx < c.source[1];
        pixels[tap++][r] = is_there ? first + (dy * c.source[1] + dx) * c.channels : c.padding;
      }
    }
    if (++x < c.target[1]) continue;
    x = 0;
    if (++y < c.target[0]) continue;
    y = 0;
    ++image;
  }
}

/// Stores one row of results as int8.
template <int kVectors>
GANTRY_VNNI inline void store_bytes(const __m512 (&x)[kVectors], const VnniConvolution& c,
                                    uint8_t* target, __mmask16 last) {
  const bool is_signed = c.target_type == Int8Type::kS8;
  __m512i numbers[kVectors];
  for (int v = 0; v < kVectors; ++v) numbers[v] = integers_of(x[v]);
  if constexpr (kVectors == 4) {
    const __mmask64 lanes = static_cast<uint64_t>(last) << 48 | 0xffffffffffffU;
    _mm512_mask_storeu_epi8(target, lanes, pack_bytes(numbers, c.zero_point, is_signed));
  } else {
    const __m512i least = _mm512_set1_epi32(-(1 << 20));  // adding a zero point does not overflow
    const __m512i zero_point = _mm512_set1_epi32(c.zero_point);
    for (int v = 0; v < kVectors; ++v) {
      const __m512i number = _mm512_add_epi32(_mm512_max_epi32(numbers[v], least), zero_point);
      const __m128i bytes =
          is_signed ? _mm512_cvtsepi32_epi8(number)
                    : _mm512_cvtusepi32_epi8(_mm512_max_epi32(number, _mm512_setzero_si512()));
      _mm_mask_storeu_epi8(target + v * kVectorChannels,
                           v + 1 < kVectors ? static_cast<__mmask16>(0xffff) : last, bytes);
    }
  }
}

/// Applies the epilogue to a row's sums and stores them.
template <int kVectors>
GANTRY_VNNI inline void finish_row(const __m512i* sums, const VnniConvolution& c,
                                   const Position& at, int64_t row, __mmask16 last) {
  __m512 x[kVectors];
  const uint8_t* addends[kVectors];
  __mmask16 lanes[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    addends[v] = at.addend ? at.addend + row * c.results + v * kVectorChannels : nullptr;
    lanes[v] = v + 1 < kVectors ? static_cast<__mmask16>(0xffff) : last;
    const int64_t channel = at.channel + v * kVectorChannels;
    x[v] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[v]), _mm512_loadu_ps(c.scales + channel),
                           _mm512_loadu_ps(c.bias + channel));
  }
  for (const Int8EpilogueStep& step : c.steps) apply(step, x, addends, lanes);
  if (c.target_type != Int8Type::kF32)
    return store_bytes<kVectors>(x, c, at.target + row * c.results, last);
  auto* to = reinterpret_cast<float*>(at.target) + row * c.results;
  for (int v = 0; v < kVectors; ++v) {
    _mm512_mask_storeu_ps(to + v * kVectorChannels,
                          v + 1 < kVectors ? static_cast<__mmask16>(0xffff) : last, x[v]);
  }
}

template <int kRows, int kVectors>
GANTRY_VNNI void make_tile(const VnniConvolution& c, const Position& at) {
  Pixels pixels;
  find_pixels(c, at, kRows, pixels);
  const int64_t steps = c.taps() * c.channels / kByteQuad;
  const int64_t ahead_step = (at.ahead_bytes + steps - 1) / steps;
  const int8_t* weights = at.weights;
  const int8_t* ahead = at.ahead;
  __m512i sums[kRows][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const __m512i start = _mm512_loadu_si512(c.starts + at.channel + v * kVectorChannels);
    for (int r = 0; r < kRows; ++r) sums[r][v] = start;
  }
  for (int64_t tap = 0; tap < c.taps(); ++tap) {
    const uint8_t* from[kRows];
    for (int r = 0; r < kRows; ++r) from[r] = pixels[tap][r];
    for (int64_t channel = 0; channel < c.channels; channel += kByteQuad) {
      __m512i numbers[kVectors];
      for (int v = 0; v < kVectors; ++v) numbers[v] = _mm512_loadu_si512(weights + v * kLine);
      weights += kVectors * kLine;
      _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
      ahead += ahead_step;
      for (int r = 0; r < kRows; ++r) {
        int32_t quad = 0;
        std::memcpy(&quad, from[r] + channel, sizeof(quad));
        const __m512i x = _mm512_set1_epi32(quad);
        for (int v = 0; v < kVectors; ++v)
          sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], x, numbers[v]);
      }
    }
  }
  const int64_t over = c.results - at.channel - (kVectors - 1) * kVectorChannels;
  const auto last = static_cast<__mmask16>(over >= kVectorChannels ? 0xffff : (1U << over) - 1);
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) finish_row<kVectors>(sums[r], c, at, r, last);
}

using MakeTile = void (*)(const VnniConvolution&, const Position&);

template <int kVectors, int... kRows>
constexpr std::array<MakeTile, kMostRows> tiles_for(std::integer_sequence<int, kRows...>) {
  return {make_tile<kRows + 1, kVectors>...};
}

template <int kVectors>
constexpr std::array<MakeTile, kMostRows> tiles_for() {
  return tiles_for<kVectors>(std::make_integer_sequence<int, rows_for(kVectors)>());
}

/// Indexed by vectors - 1 and rows - 1.
constexpr std::array<std::array<MakeTile, kMostRows>, kMostVectors> kTiles = {
    tiles_for<1>(), tiles_for<2>(), tiles_for<3>(), tiles_for<4>()};

/// Division of a panel's pixels into tiles of nearly equal height: each tile reads all weights, so
/// that a low one costs more for each result.
struct Rows {
  int64_t least;  // pixels of a tile
  int64_t more;   // the first `more` tiles have one pixel more

  Rows(int64_t pixels, int64_t tiles) : least(pixels / tiles), more(pixels % tiles) {}
  [[nodiscard]] int64_t before(int64_t tile) const { return tile * least + std::min(tile, more); }
};

}  // namespace

int64_t tiles_of(const VnniConvolution& c, int64_t panel, int64_t pixels) {
  const int64_t rows = rows_for(c.vectors_of(panel));
  return (pixels + rows - 1) / rows;
}

void convolve_tiles(const VnniConvolution& c, const uint8_t* source, const uint8_t* addend,
                    void* target, int64_t pixels, int64_t begin, int64_t end) {
  const int64_t size = c.target_type == Int8Type::kF32 ? sizeof(float) : 1;
  const int64_t inner = c.taps() * c.channels;
  for (int64_t panel = 0; panel < c.panels() && end > 0; ++panel) {
    const int64_t vectors = c.vectors_of(panel);
    const int64_t tiles = tiles_of(c, panel, pixels);
    const Rows rows(pixels, tiles);
    const int8_t* weights = c.weights + panel * inner * kPanelChannels;
    const int8_t* next = weights + inner * vectors * kVectorChannels;
    const bool is_next = panel + 1 < c.panels() && end > tiles;
    const int64_t share =  // bytes of the next panel that a tile prefetches
        is_next ? inner * c.vectors_of(panel + 1) * kVectorChannels / tiles + 1 : 0;
    for (int64_t tile = std::max<int64_t>(begin, 0); tile < std::min(end, tiles); ++tile) {
      const int64_t first = rows.before(tile);
      const int64_t count = rows.before(tile + 1) - first;
      const int64_t channel = panel * kPanelChannels;
      const int64_t position = first * c.results + channel;
      const Position at{source,
                        addend ? addend + position : nullptr,
                        static_cast<uint8_t*>(target) + position * size,
                        first,
                        channel,
                        weights,
                        is_next ? next + tile * share : weights,
                        share};
      kTiles[static_cast<size_t>(vectors) - 1][static_cast<size_t>(count) - 1](c, at);
    }
    begin -= tiles;
    end -= tiles;
  }
}

}  // namespace gantry::x86

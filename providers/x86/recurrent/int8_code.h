// SPDX-License-Identifier: Apache-2.0
// An LSTM whose weights are int8 and whose other factors are quantized in the run: the rows of a
// matrix, the input's or the states of a step, become u8 numbers with one scale and zero point,
// whose products with the weights are summed as exact integers, by AMX, by VNNI, or without either
// (int8/byte_panels.h). Pure functions, from any thread.
#pragma once

#include <cstdint>

#include "int8/widened_convolution.h"
#include "recurrent/step.h"

namespace gantry::x86 {

static_assert(kUnitBlock == kWidenedPanel);

constexpr int kInt8Gates = static_cast<int>(gates_of(CellKind::kLstm));

/// The weights of one direction, as recurrent/int8_weights.h packs them: a panel for each gate of
/// each block of units, missing units zero.
struct Int8Gates {
  /// [blocks, quads / quads_of_step, gates, quads_of_step, kUnitBlock, 4], with VNNI
  const int8_t* weights = nullptr;
  BytePanels panels;              ///< in place of `weights`: without VNNI, of all directions
  int64_t first_panel = 0;        ///< of this direction among `panels`
  const int32_t* sums = nullptr;  ///< [blocks, gates, kUnitBlock], of all weights
  const float* scales = nullptr;  ///< likewise, of the weights
  int32_t zero_point = 0;         ///< of all weights
  int64_t quads = 0;              ///< products of which a sum is made, in fours
  int64_t quads_of_step = 1;      ///< kVnniStep or kAmxStep, of which `quads` is a multiple then
  int64_t blocks = 0;             ///< of units
};

/// A quantized matrix. What it stands for: (number - zero_point) * scale.
struct QuantizedRows {
  const uint8_t* numbers = nullptr;  ///< [rows, quads, 4], the last ones any
  const int32_t* sums = nullptr;     ///< [rows], of the numbers less the zero point
  float scale = 1;
  int32_t zero_point = 0;
};

/// Least and largest of some numbers and 0.
struct Range {
  float least = 0;
  float largest = 0;
  bool is_finite = true;  ///< all numbers are
};
/// Of `rows` rows of `count` floats, `stride` apart.
Range range_of(const float* from, int64_t rows, int64_t count, int64_t stride);
/// The scale and the zero point by which 256 numbers cover the range, as DynamicQuantizeLinear has
/// them. The scale of what is not finite is NaN, and so is every product of the rows: rounding
/// would hide that something went wrong.
void set_range(const Range& range, QuantizedRows& rows);
/// Rounds rows `stride` apart to numbers [rows, quads, 4] and their sums, by the scale and the zero
/// point of `by`.
void quantize_rows(const float* from, int64_t rows, int64_t count, int64_t stride,
                   const QuantizedRows& by, int64_t quads, uint8_t* numbers, int32_t* sums);

/// Units [begin, end) * kUnitBlock of all gates: products of `rows` rows with the weights, plus
/// `bias`, to `target`, f32 [blocks, gates, kUnitBlock] both, rows of `target` being `stride`
/// apart.
void project_int8(const Int8Gates& gates, const QuantizedRows& x, int64_t rows, const float* bias,
                  int64_t begin, int64_t end, float* target, int64_t stride);

/// Units [begin, end) * kUnitBlock of a step of an LSTM whose states before it are `before`;
/// RecurrentStep's weights are not read.
void run_int8_step(const RecurrentStep& step, const Int8Gates& gates, const QuantizedRows& before,
                   int64_t begin, int64_t end);

/// Rows that are multiplied with a block of weights.
struct Int8Block {
  const int8_t* weights = nullptr;  ///< as Int8Gates has them
  const uint8_t* numbers = nullptr;
  int64_t rows = 0;
  int64_t quads = 0;
  int64_t quads_of_step = 1;
};
/// Sums, [gates, rows, kUnitBlock]. Requires has_vnni_code(), and up to kVnniRows rows.
constexpr int64_t kVnniRows = 6;
constexpr int64_t kVnniStep = 4;
void multiply_with_vnni(const Int8Block& block, int32_t* sums);
/// Likewise. Requires steps of kAmxStep, and tiles (int8/amx_tiles.h) that this thread configured
/// for `rows_of_tile` rows, of which there are up to kAmxTiles times as many, and no others.
constexpr int64_t kAmxTiles = 4;
constexpr int64_t kAmxStep = 16;
void multiply_with_amx(const Int8Block& block, int64_t rows_of_tile, int32_t* sums);

}  // namespace gantry::x86

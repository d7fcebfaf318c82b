// SPDX-License-Identifier: Apache-2.0
// An LSTM with int8 weights and dynamic quantization: the input, and the states of each step, are
// quantized to u8 with one scale and zero point, and multiplied with exact integer sums, by AMX, by
// AVX-512 VNNI, or without either (int8/byte_panels.h). Pure functions, from any thread.
#pragma once

#include <cstdint>

#include "int8/widened_convolution.h"
#include "recurrent/step.h"

namespace gantry::x86 {

static_assert(kUnitBlock == kWidenedPanel);

constexpr int kInt8Gates = static_cast<int>(gates_of(CellKind::kLstm));

/// Packed weights of one direction (recurrent/int8_weights.h): a panel for each gate of each block
/// of units, padded with zeros.
struct Int8Gates {
  /// with AVX-512 VNNI or AMX: [blocks, quads / quads_of_step, gates, quads_of_step, kUnitBlock, 4]
  const int8_t* weights = nullptr;
  BytePanels panels;              ///< without them, instead of `weights`: of all directions
  int64_t first_panel = 0;        ///< of this direction in `panels`
  const int32_t* sums = nullptr;  ///< [blocks, gates, kUnitBlock]: sums of each column's weights
  const float* scales = nullptr;  ///< [blocks, gates, kUnitBlock]
  int32_t zero_point = 0;         ///< of all weights
  int64_t quads = 0;              ///< of a column: products of a sum, divided by 4
  int64_t quads_of_step = 1;      ///< kVnniStep or kAmxStep; divides `quads`
  int64_t blocks = 0;             ///< of hidden units
};

/// A matrix quantized per tensor: x = (number - zero_point) * scale.
struct QuantizedRows {
  const uint8_t* numbers = nullptr;  ///< [rows, quads, 4]; the padding may hold anything
  const int32_t* sums = nullptr;     ///< [rows], of the elements less the zero point
  float scale = 1;
  int32_t zero_point = 0;
};

/// The range of some floats, extended to 0.
struct Range {
  float least = 0;
  float largest = 0;
  bool is_finite = true;  ///< all floats are
};
/// The range of `rows` rows of `count` floats, `stride` apart.
Range range_of(const float* from, int64_t rows, int64_t count, int64_t stride);
/// Sets scale and zero point so that u8 covers the range, as DynamicQuantizeLinear (ai.onnx 11)
/// does. If the range is not finite the scale is NaN, which makes every product NaN: rounding would
/// hide the error.
void set_range(const Range& range, QuantizedRows& rows);
/// Quantizes rows of `count` floats, `stride` apart, by scale and zero point of `by`. `numbers`:
/// [rows, quads, 4]; `sums`: [rows].
void quantize_rows(const float* from, int64_t rows, int64_t count, int64_t stride,
                   const QuantizedRows& by, int64_t quads, uint8_t* numbers, int32_t* sums);

/// Input projection x * weights + bias of `rows` rows, for blocks [begin, end) of hidden units, all
/// gates. `bias`: f32 [blocks, gates, kUnitBlock]; `target`: the same for each row, rows `stride`
/// apart.
void project_int8(const Int8Gates& gates, const QuantizedRows& x, int64_t rows, const float* bias,
                  int64_t begin, int64_t end, float* target, int64_t stride);

/// Blocks [begin, end) of hidden units of an LSTM step. `before`: the quantized previous states;
/// step.weights is not read.
void run_int8_step(const RecurrentStep& step, const Int8Gates& gates, const QuantizedRows& before,
                   int64_t begin, int64_t end);

/// Operands of a product of rows with a block of weights.
struct Int8Block {
  const int8_t* weights = nullptr;   ///< a block of Int8Gates::weights
  const uint8_t* numbers = nullptr;  ///< [rows, quads, 4]
  int64_t rows = 0;
  int64_t quads = 0;
  int64_t quads_of_step = 1;
};
/// Writes the sums, [gates, rows, kUnitBlock]. Requires has_vnni_code() and at most kVnniRows rows.
constexpr int64_t kVnniRows = 6;
constexpr int64_t kVnniStep = 4;
void multiply_with_vnni(const Int8Block& block, int32_t* sums);
/// The same by AMX. Requires quads_of_step kAmxStep, tiles (int8/amx_tiles.h) configured on this
/// thread for `rows_of_tile` rows, and a number of rows that is 1 to kAmxTiles times as large.
constexpr int64_t kAmxTiles = 4;
constexpr int64_t kAmxStep = 16;
void multiply_with_amx(const Int8Block& block, int64_t rows_of_tile, int32_t* sums);

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// What int8 matmuls and convolutions share: slots of scales and zero points, the epilogue, tile
// sizes, split-K, and channels-last packing.
#pragma once

#include <gantry/sdk/mutex.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "fuse/int8_fusion.h"
#include "kernels/quantization/int8_matmul.h"
#include "operators/operators.h"

namespace gantry::cuda {

/// Input slots. -1: absent, which is a scale of 1 or a zero point of 0.
struct Int8Slots {
  int x = 0, x_scale = -1, x_zero = -1;
  int w = 1, w_scale = -1, w_zero = -1;
  int bias = -1, bias_scale = -1;
  int y_scale = -1, y_zero = -1;
};

/// An int8 matmul or convolution without its shapes.
struct Int8Problem {
  Int8Slots slots;
  uint32_t dtype = GANTRY_INT32;  ///< of the result: i32 sums, a float type, or 8 bits
  bool is_linear = false;  ///< QLinearMatMul or QLinearConv, with their rounding and an i32 bias
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();
  bool has_constant_w = false;
  // Whether the zero point cancels the shift by which kernels make unsigned operands signed (128),
  // so that no correction term is needed.
  bool is_x_centred = false;
  bool is_w_centred = false;
};

/// The problem of a MatMulInteger, ConvInteger, QLinearMatMul or QLinearConv node.
Int8Problem int8_problem(const sdk::NodeView& node);
/// The problem of a fusion.
Int8Problem int8_problem(const sdk::FusionCompile& compile, const Int8Fusion& fusion);

using Int8Addresses = std::vector<std::pair<const void* const*, Buffer>>;

/// Fills in the epilogue's parameters, all but the depth, and appends the addresses of its members.
/// `rows`, `columns`: extents of a matmul's result; of a convolution its channels and 1, as the
/// left operand is then the weights. INVALID_ARGUMENT: zero points or scales do not fit.
void add_result(const Planner& planner, const Int8Problem& work, bool is_conv, int64_t rows,
                int64_t columns, const Buffer& y, Int8Epilogue& result, Int8Addresses& addresses);

/// Kernel text that defines the epilogue: types of operands and result, and options. `is_shared`:
/// split-K.
std::string text_of_result(const Planner& planner, const Int8Problem& work, bool is_conv,
                           bool is_shared);

/// The mask that makes four packed elements signed: "0x80808080u" for u8, "0u" for i8.
const char* flip_of(uint32_t dtype);

/// Tile sizes of a block of 256 threads.
struct Int8Tile {
  int64_t rows, columns, warp_rows;
};
/// The tile for a result of rows * columns, `batch` times.
Int8Tile tile_for(const Planner& planner, int64_t rows, int64_t columns, int64_t batch);
/// Kernel text of the tiled multiplication with this tile. `sums_left`, `sums_right`: whether it
/// sums rows of the left and columns of the right operand, for zero-point correction.
std::string text_of_tile(const Int8Tile& tile, bool sums_left, bool sums_right);

/// The launch of a tiled kernel.
struct Int8Tiles {
  int64_t blocks;         ///< one for each tile
  int64_t depth;          ///< length of the inner axis, with padding
  int64_t rows, columns;  ///< of the result; of a convolution: channels and positions
  int64_t count;          ///< of results
};
/// Number of split-K shares: more than 1 where tiles alone leave most of the device idle. Then
/// `result` and the addresses name the partial sums, and plan_split_k_reduction must follow.
int64_t plan_split_k(Planner& planner, const Int8Tiles& tiles, Int8Epilogue& result,
                     Int8Addresses& addresses);
/// Plans the split-K reduction: results from the partial sums. `addresses`: of members of `result`,
/// among others.
void plan_split_k_reduction(Planner& planner, const Int8Tiles& tiles, const Int8Problem& work,
                            bool is_conv, const Int8Epilogue& result,
                            const Int8Addresses& addresses);

/// The transpose to channels-last: [outer, groups * channels, positions] to [outer, positions,
/// groups, padded] of signed elements, padded with zeros. Requires `padded` to be a multiple of 4.
struct Int8Transpose {
  int64_t outer, groups, channels, positions, padded;

  [[nodiscard]] uint64_t size_bytes() const {
    return static_cast<uint64_t>(outer * positions * groups * padded);
  }
};
void plan_transpose(Planner& planner, const Int8Transpose& transpose, uint32_t dtype,
                    const Buffer& target, const Buffer& source);

/// Packs weights with a transpose: once if they are constant, else in every run. Any thread.
class TransposedWeights {
 public:
  Buffer plan(Planner& planner, const Int8Transpose& transpose, const Int8Problem& work) const;

 private:
  mutable sdk::Mutex mutex_;
  mutable std::shared_ptr<CachedMemory> cached_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// What products and convolutions of 8-bit numbers have in common: which input slots say what their
// numbers stand for, and what becomes of sums.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "../byte_unit.h"
#include "../kernels/byte_product.h"
#include "operators.h"

namespace gantry::cuda {

/// Input slots; -1: there is none, which is a scale of 1 or a zero point of 0.
struct ByteSlots {
  int x = 0, x_scale = -1, x_zero = -1;
  int w = 1, w_scale = -1, w_zero = -1;
  int bias = -1, bias_scale = -1;
  int y_scale = -1, y_zero = -1;
};

/// What is to be made of two operands.
struct ByteWork {
  ByteSlots slots;
  uint32_t dtype = GANTRY_INT32;  ///< of the result: i32 for sums, floats, or 8 bits
  bool is_linear = false;         ///< as QLinearMatMul and QLinearConv round; a bias is i32
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();
  bool has_constant_w = false;
  // Whether operands less their zero points are known to be what kernels multiply, which take 128
  // from unsigned numbers.
  bool is_x_centred = false;
  bool is_w_centred = false;
};

/// Of MatMulInteger and ConvInteger, or of QLinearMatMul and QLinearConv.
ByteWork byte_work(const sdk::NodeView& node);
/// Of a unit, whose slots are those of its nodes.
ByteWork byte_work(const sdk::GraphIndex& index, const ByteUnit& unit);

using ByteAddresses = std::vector<std::pair<const void* const*, Buffer>>;

/// Fills in all of `result` but the depth, and the addresses of its members. `rows` and `columns`:
/// of the product, or of a convolution its channels and 1; the left factor is x, or for a
/// convolution the weights. INVALID_ARGUMENT: zero points or scales do not fit.
void add_result(const Planner& planner, const ByteWork& work, bool is_conv, int64_t rows,
                int64_t columns, const Buffer& y, ByteResult& result, ByteAddresses& addresses);

/// Text that says the types of the factors and the result, and what becomes of sums. `is_shared`:
/// several blocks make one.
std::string text_of_result(const Planner& planner, const ByteWork& work, bool is_conv,
                           bool is_shared);

/// "0x80808080u" for unsigned numbers: what makes four of them signed.
const char* flip_of(uint32_t dtype);

/// How a block of 256 threads makes a tile of sums.
struct ByteTile {
  int64_t rows, columns, warp_rows;
};
/// The tile for so many sums, each of `batch` times.
ByteTile tile_for(const Planner& planner, int64_t rows, int64_t columns, int64_t batch);
/// Text that says it, and that brings what tiles are made by.
std::string text_of_tile(const ByteTile& tile, bool sums_left, bool sums_right);

/// What is to be launched for tiles.
struct ByteTiles {
  int64_t blocks;         ///< one for each tile
  int64_t depth;          ///< products of a sum, as they lie
  int64_t rows, columns;  ///< of the result, or of a convolution its channels and places
  int64_t count;          ///< of results
};
/// How many blocks are to share the products of each sum: more than one where the tiles leave most
/// of the device idle. `result` and the addresses then say so, and plan_join has to follow.
int64_t plan_shares(Planner& planner, const ByteTiles& tiles, ByteResult& result,
                    ByteAddresses& addresses);
/// Makes results of sums that blocks have shared; `addresses`: of members of `result`, and others.
void plan_join(Planner& planner, const ByteTiles& tiles, const ByteWork& work, bool is_conv,
               const ByteResult& result, const ByteAddresses& addresses);

/// Channels side by side: [outer, groups * channels, places] as [outer, places, groups, lies] of
/// signed numbers, filled up with zeros. Requires `lies` a multiple of 4.
struct ByteTurn {
  int64_t outer, groups, channels, places, lies;

  [[nodiscard]] uint64_t size_bytes() const {
    return static_cast<uint64_t>(outer * places * groups * lies);
  }
};
void plan_turn(Planner& planner, const ByteTurn& turn, uint32_t dtype, const Buffer& target,
               const Buffer& source);

/// Weights that are turned once if they are constant, else in each run. Any thread.
class TurnedWeights {
 public:
  Buffer plan(Planner& planner, const ByteTurn& turn, const ByteWork& work) const;

 private:
  mutable std::mutex mutex_;
  mutable std::shared_ptr<KeptMemory> kept_;
};

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of 8-bit numbers as graphs say them: an operator of floats between
// nodes that quantise, or one of integers whose sums become floats behind it. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "operation.h"

namespace gantry::cuda {

/// Values that a unit reads; GANTRY_NONE: there is none, which is a scale of 1 or a zero point of
/// 0.
struct ByteRoles {
  uint32_t x = GANTRY_NONE, x_scale = GANTRY_NONE, x_zero = GANTRY_NONE;  ///< the left factor
  uint32_t w = GANTRY_NONE, w_scale = GANTRY_NONE, w_zero = GANTRY_NONE;  ///< the right, or weights
  uint32_t bias = GANTRY_NONE, bias_scale = GANTRY_NONE;  ///< floats, with a scale i32
  uint32_t y_scale = GANTRY_NONE, y_zero = GANTRY_NONE;
};

struct ByteUnit {
  std::vector<uint32_t> nodes;  ///< ascending; empty: there is no unit
  uint32_t anchor = 0;          ///< MatMul, Gemm, Conv or MatMulInteger
  ByteRoles roles;
  uint32_t dtype = GANTRY_UNDEFINED;  ///< of the result: floats or 8 bits
  /// Between which the floats are held.
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();
};

/// Which tensors of four axes lie with the second innermost.
struct ByteConvOrders {
  bool x = false, y = false;
};

/// Whether a unit is a convolution that can write such a tensor, and whether it can read one
/// without turning it round.
bool makes_channels_last(const sdk::GraphIndex& index, const ByteUnit& unit);
bool reads_channels_last(const sdk::GraphIndex& index, const ByteUnit& unit);

/// The unit round the node `anchor`, of nodes that may be taken (`may_take`, by node) and whose
/// results nobody else reads. Sums are of so few products that they fit into 32 bits.
ByteUnit byte_unit(const sdk::GraphIndex& index, uint32_t anchor,
                   const std::vector<bool>& may_take);

/// Slot of a value among a unit's inputs, -1: it is none of them.
int slot_in(const sdk::GraphIndex& index, const ByteUnit& unit, uint32_t value);

/// The kernel of a unit, whose input slots are those of its nodes.
std::unique_ptr<Operation> make_byte_product(const sdk::GraphIndex& index, const ByteUnit& unit);
std::unique_ptr<Operation> make_byte_conv(const sdk::GraphIndex& index, const ByteUnit& unit,
                                          const ByteConvOrders& orders);

}  // namespace gantry::cuda

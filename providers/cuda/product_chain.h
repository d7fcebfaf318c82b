// SPDX-License-Identifier: Apache-2.0
// A product of matrices with what can be done while its result is written: the addition of a bias,
// that of a tensor of the result's shape, and an activation. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "operation.h"

namespace gantry::cuda {

/// What is done to a product's result, in this order. The bias is an input behind the factors, the
/// addend the last. A MatMulNBits has at most an addend.
struct ProductEpilogue {
  bool has_bias = false;
  bool has_addend = false;
  ProductActivation activation = ProductActivation::kNone;
};

/// Nodes in ascending order, the product first.
struct ProductChain {
  std::vector<uint32_t> nodes;
};

/// The product at `node` with the nodes behind it that may be taken (`may_take`, by node) and that
/// alone read what they read of it; empty: the node is no product of floats. A MatMulNBits of which
/// nothing is taken is no chain either.
ProductChain product_chain(const sdk::GraphIndex& index, uint32_t node,
                           const std::vector<bool>& may_take);

/// What the nodes of a chain do behind its product.
ProductEpilogue epilogue_of(const sdk::GraphIndex& index, const std::vector<uint32_t>& nodes);

/// The kernel of a chain. `anchor`: MatMul, Gemm or MatMulNBits.
std::unique_ptr<Operation> make_product(const sdk::NodeView& anchor,
                                        const ProductEpilogue& epilogue);

}  // namespace gantry::cuda

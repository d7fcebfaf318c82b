// SPDX-License-Identifier: Apache-2.0
// Products of one left factor with several matrices that are constant, as one claim: of a few rows
// they are one launch. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <memory>
#include <vector>

#include "product_chain.h"

namespace gantry::cuda {

/// Most products of a group.
constexpr size_t kMostGrouped = 4;

/// Whether a chain is a MatMul that may be one of them, as far as it alone tells, by itself or with
/// a constant bias.
bool may_be_grouped(const sdk::GraphIndex& index, const ProductChain& chain);
/// The same of a MatMulNBits, which is grouped with such.
bool may_be_block_group(const sdk::NodeView& node);

/// Nodes of those of `products`, which may be grouped, that read one left factor: of two to
/// kMostGrouped products, ascending.
std::vector<std::vector<uint32_t>> product_groups(const sdk::GraphIndex& index,
                                                  const std::vector<ProductChain>& products);

/// The kernel of a group of MatMul nodes with their biases. `nodes` ascending, of `index`.
std::unique_ptr<Operation> make_product_group(const sdk::GraphIndex& index,
                                              const std::vector<uint32_t>& nodes);
/// The kernel of a MatMulNBits node; `has_addend`: of the result's shape, the last input slot.
std::unique_ptr<Operation> make_block_product(const sdk::NodeView& node, bool has_addend);
/// The kernel of a group of MatMulNBits nodes.
std::unique_ptr<Operation> make_block_group(const std::vector<sdk::NodeView>& nodes);

}  // namespace gantry::cuda

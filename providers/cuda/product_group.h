// SPDX-License-Identifier: Apache-2.0
// Products of one left factor with several matrices that are constant, as one claim: of a few rows
// they are one launch. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <memory>
#include <vector>

#include "operation.h"

namespace gantry::cuda {

/// Most products of a group.
constexpr size_t kMostGrouped = 4;

/// Whether a MatMul may be one of them, as far as it alone tells.
bool may_be_grouped(const sdk::NodeView& node);
/// The same of a MatMulNBits, which is grouped with such.
bool may_be_block_group(const sdk::NodeView& node);

/// Nodes of `products`, which may be grouped, that read one left factor: two to kMostGrouped,
/// ascending.
std::vector<std::vector<uint32_t>> product_groups(const sdk::GraphIndex& index,
                                                  const std::vector<uint32_t>& products);

/// The kernel of a group of `count` MatMul nodes.
std::unique_ptr<Operation> make_product_group(size_t count);
/// The kernel of a group of MatMulNBits nodes.
std::unique_ptr<Operation> make_block_group(const std::vector<sdk::NodeView>& nodes);

}  // namespace gantry::cuda

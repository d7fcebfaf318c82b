// SPDX-License-Identifier: Apache-2.0
// Pooling of tensors that stand channels-last, between convolutions that work so.
#pragma once

#include <gantry/sdk/graph.h>

#include <memory>

#include "operation.h"

namespace gantry::cuda {

/// Which tensors, [batch, channels, rows, columns], have their channels innermost.
struct PoolOrders {
  bool x = false;
  bool y = false;
};

/// MaxPool without indices, AveragePool.
std::unique_ptr<Operation> make_window_pool(const sdk::NodeView& node, const PoolOrders& orders);

/// GlobalAveragePool, GlobalMaxPool, whose result is dense.
std::unique_ptr<Operation> make_global_pool(const sdk::NodeView& node, const PoolOrders& orders);

}  // namespace gantry::cuda

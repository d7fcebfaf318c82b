// SPDX-License-Identifier: Apache-2.0
// Normalisations by groups of channels of tensors that may stand channels-last, between
// convolutions that work so.
#pragma once

#include <gantry/sdk/graph.h>

#include <memory>

#include "operation.h"

namespace gantry::cuda {

/// Which tensors, [batch, channels, rows, columns], have their channels innermost.
struct NormOrders {
  bool x = false;
  bool y = false;
};

/// GroupNormalization, InstanceNormalization.
std::unique_ptr<Operation> make_channel_norm(const sdk::NodeView& node, const NormOrders& orders);

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// Products of 16-bit floats by the provider's own kernel for tensor cores, which does all that
// stands behind them and makes several of one left factor in one launch.
#pragma once

#include <vector>

#include "product_call.h"

namespace gantry::cuda {

/// Whether the factors are 16-bit floats whose rows are whole chunks of 16 bytes as they lie.
bool takes_product_tiles(const ProductCall& call);

/// Adds the launch of one product, or of up to MOST_PRODUCTS that share the left factor and lie
/// alike. Requires that each takes tiles.
void launch_product_tiles(Planner& planner, const std::vector<ProductCall>& calls);

/// Whether there are so few tiles for the device that their inner axis is worth sharing.
bool shares_inner_axis(const Planner& planner, const ProductCall& call);

/// One product of which several blocks make each tile, and a second launch that adds. Requires
/// shares_inner_axis.
void launch_shared_product_tiles(Planner& planner, const ProductCall& call);

}  // namespace gantry::cuda

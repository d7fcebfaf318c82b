// SPDX-License-Identifier: Apache-2.0
// Softmax and the product of 16-bit floats that reads it, as one kernel: what Softmax makes stays
// in f32 and in the cache, and only the product is rounded. See softmax_pattern.h for the nodes.
#pragma once

#include <gantry/sdk/provider.h>

#include <cstdint>
#include <memory>

namespace gantry::cpu {

/// Claims every such set of nodes for `provider`, with `tag`. Pure, any thread.
void claim_softmax_products(const sdk::Provider& provider, const gantry_claim_request& request,
                            uint64_t tag);

/// The kernel of a set that was granted. INTERNAL: the nodes are no such set.
std::unique_ptr<sdk::Kernel> make_softmax_product(const gantry_host* host,
                                                  const gantry_compile& args);

}  // namespace gantry::cpu

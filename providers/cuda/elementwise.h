// SPDX-License-Identifier: Apache-2.0
// A set of element-wise nodes as one kernel, whose source is made from the nodes' expressions.
#pragma once

#include <gantry/sdk/graph_index.h>
#include <gantry/sdk/kernel.h>

#include <memory>
#include <string>
#include <vector>

#include "indexing.h"
#include "operation.h"

namespace gantry::cuda {

/// What input slots of a set are to its kernel.
struct ElementwisePorts {
  std::vector<bool> is_inlined;  ///< by slot: a constant of one element, which stands in the source
  std::vector<bool> is_read;     ///< by slot; else only its type counts
  uint64_t overwrites = 0;       ///< slots over which the result may be written
};
ElementwisePorts elementwise_ports(const sdk::GraphIndex& index,
                                   const std::vector<uint32_t>& nodes);

/// Which tensors of four axes lie with the second innermost.
struct ElementwiseOrders {
  std::vector<bool> inputs;  ///< by slot
  bool output = false;
};

/// The kernel of a set as elementwise_sets gives it.
std::unique_ptr<Operation> make_elementwise(const sdk::GraphIndex& index,
                                            const std::vector<uint32_t>& nodes,
                                            ElementwiseOrders orders);

}  // namespace gantry::cuda

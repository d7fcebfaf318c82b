// SPDX-License-Identifier: Apache-2.0
#include <gantry/sdk/error.h>

#include <algorithm>

#include "kernels/kernels.h"

namespace gantry::onednn {

Chain KernelArgs::chain(const AnchorTraits& traits) const {
  return chain_of(index, nodes[0], traits, [&](uint32_t node) {
    return std::binary_search(nodes.begin(), nodes.end(), node);
  });
}

size_t KernelArgs::slot_of(uint32_t value) const {
  for (uint32_t slot = 0; slot < compile.input_count; ++slot) {
    if (compile.inputs[slot] == value) return slot;
  }
  throw sdk::Error(GANTRY_INTERNAL, "onednn: a value of the claim has no slot");
}

}  // namespace gantry::onednn

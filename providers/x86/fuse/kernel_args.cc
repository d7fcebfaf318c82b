// SPDX-License-Identifier: Apache-2.0
#include "fuse/kernel_args.h"

#include <gantry/sdk/error.h>

namespace gantry::x86 {

size_t KernelArgs::slot_of(uint32_t value) const {
  for (uint32_t slot = 0; slot < compile.input_count; ++slot) {
    if (compile.inputs[slot] == value) return slot;
  }
  throw sdk::Error(GANTRY_INTERNAL, "x86: a value of the claim has no slot");
}

size_t KernelArgs::output_slot() const {
  for (uint32_t slot = 0; slot < compile.output_count; ++slot) {
    if (compile.outputs[slot] == fusion.target.value) return slot;
  }
  throw sdk::Error(GANTRY_INTERNAL, "x86: the result of the claim has no slot");
}

}  // namespace gantry::x86

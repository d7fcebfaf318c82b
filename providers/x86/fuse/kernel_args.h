// SPDX-License-Identifier: Apache-2.0
// What every kernel of this provider is made from: the fused nodes and the host's compile call.
// Borrowed while a claim is compiled; one thread.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>

#include <cstddef>
#include <cstdint>

#include "fuse/fusion.h"
#include "options.h"

namespace gantry::x86 {

struct KernelArgs {
  const GraphIndex& index;
  const gantry_compile& compile;
  const Fusion& fusion;  ///< as the family's match found it
  /// Results of slow decisions (a layout, a digest, the faster of two algorithms), from the
  /// compiled-model cache if it has this claim. A kernel looks here first and adds what it decides.
  sdk::Choices& choices;
  const Options& options;  ///< of the session

  /// True if the host granted the slot the channels-last format.
  [[nodiscard]] bool is_input_formatted(size_t slot) const {
    return compile.input_formats && compile.input_formats[slot];
  }
  [[nodiscard]] bool is_output_formatted(size_t slot) const {
    return compile.output_formats && compile.output_formats[slot];
  }
  /// Threads that a run of the session may use, at least 1.
  [[nodiscard]] int threads() const {
    return compile.threads > 0 ? static_cast<int>(compile.threads) : 1;
  }
  /// The input slot of a value. Errors: INTERNAL if there is none.
  [[nodiscard]] size_t slot_of(uint32_t value) const;
  /// The output slot of the fusion's target. Errors: INTERNAL if there is none.
  [[nodiscard]] size_t output_slot() const;
};

}  // namespace gantry::x86

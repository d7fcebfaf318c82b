// SPDX-License-Identifier: Apache-2.0
// What every kernel of this provider is made from: the nodes that were fused, and the host's
// compile call. Borrowed while a claim is compiled; one thread.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>

#include <cstddef>
#include <cstdint>

#include "fuse/fusion.h"
#include "options.h"

namespace gantry::x86 {

/// What a kernel is made from.
struct KernelArgs {
  const GraphIndex& index;
  const gantry_compile& compile;
  const Fusion& fusion;  ///< as the family's match found it
  /// What was decided when this claim was compiled before, and what is decided now: what takes long
  /// to find out (a layout, a digest, which of two ways is faster) is asked for here first.
  sdk::Choices& choices;
  const Options& options;  ///< of the session

  /// True if the slot was granted the channels-last order.
  [[nodiscard]] bool is_input_formatted(size_t slot) const {
    return compile.input_formats && compile.input_formats[slot];
  }
  [[nodiscard]] bool is_output_formatted(size_t slot) const {
    return compile.output_formats && compile.output_formats[slot];
  }
  /// That a run of the session may use.
  [[nodiscard]] int threads() const {
    return compile.threads > 0 ? static_cast<int>(compile.threads) : 1;
  }
  /// The input slot in which a value arrives.
  [[nodiscard]] size_t slot_of(uint32_t value) const;
  /// The output slot of what the fusion makes.
  [[nodiscard]] size_t output_slot() const;
};

}  // namespace gantry::x86

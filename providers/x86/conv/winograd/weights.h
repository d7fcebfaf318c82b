// SPDX-License-Identifier: Apache-2.0
// Brings the weights of a 3 x 3 convolution from the model's order into panels.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "conv/winograd/panels.h"

namespace gantry::x86::winograd {

/// Weights as the model has them.
struct PlainWeights {
  const void* data = nullptr;  ///< floats [filters, channels, 3, 3], at any byte
  int64_t filters = 0;
  int64_t channels = 0;
  std::vector<float> scales;  ///< one for each filter; empty: all 1
};

/// Weights in a form, which need not be brought into it if the process has them already, or an
/// earlier start left them; otherwise on all cores. Errors: OUT_OF_MEMORY.
std::shared_ptr<const void> share_weights(const gantry_host* host, sdk::Choices& choices,
                                          const PlainWeights& plain, Tile tile, Form form);

}  // namespace gantry::x86::winograd

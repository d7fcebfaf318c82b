// SPDX-License-Identifier: Apache-2.0
// Packs the weights of a 3 x 3 convolution into panels.
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
  const void* data = nullptr;  ///< f32 [filters, channels, 3, 3], of any alignment
  int64_t filters = 0;
  int64_t channels = 0;
  std::vector<float> scales;  ///< one for each filter; empty: all 1
};

/// The packed weights, shared within the process or read from the compiled-model cache if equal
/// ones are there; otherwise all cores pack them. `choices` caches their digest. Errors:
/// OUT_OF_MEMORY.
std::shared_ptr<const void> share_weights(const gantry_host* host, sdk::Choices& choices,
                                          const PlainWeights& plain, Tile tile, Form form);

}  // namespace gantry::x86::winograd

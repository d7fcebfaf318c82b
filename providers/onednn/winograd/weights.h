// SPDX-License-Identifier: Apache-2.0
// The weights of a 3 x 3 convolution as winograd/convolution.h reads them: transformed, in panels.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "winograd/code.h"

namespace gantry::onednn::winograd {

/// Weights as the model has them.
struct PlainWeights {
  const void* data = nullptr;  ///< floats [filters, channels, 3, 3], at any byte
  int64_t filters = 0;
  int64_t channels = 0;
  std::vector<float> scales;  ///< one for each filter; empty: all 1
};

/// Bytes of the weights of that many channels, transformed. [any]
int64_t transformed_bytes(int64_t filters, int64_t channels, Tile tile);

/// Transforms weights on all cores: [panels, positions, channels in whole vectors, columns], zero
/// beyond the last filter and channel.
void transform_weights(const PlainWeights& plain, Tile tile, float* target);

/// Transformed weights, which need not be made if the process has them already, or an earlier start
/// left them. Errors: OUT_OF_MEMORY.
std::shared_ptr<const void> share_weights(const gantry_host* host, sdk::Choices& choices,
                                          const PlainWeights& plain, Tile tile);

}  // namespace gantry::onednn::winograd

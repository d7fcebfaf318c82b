// SPDX-License-Identifier: Apache-2.0
// Pooling of tensors that may be channels-last, so that it needs no transpose between channels-last
// convolutions. Pure functions.
#pragma once

#include <cstdint>
#include <memory>

#include "fuse/fusion.h"

namespace gantry::cuda {

/// Which tensors, [batch, channels, height, width], are channels-last (NHWC).
struct PoolLayouts {
  bool x = false;
  bool y = false;
};

/// A MaxPool without indices, or an AveragePool.
std::unique_ptr<Fusion> match_window_pool(const sdk::FusionScope& scope, uint32_t root);
/// A GlobalAveragePool or GlobalMaxPool. Its result is dense.
std::unique_ptr<Fusion> match_global_pool(const sdk::FusionScope& scope, uint32_t root);

}  // namespace gantry::cuda

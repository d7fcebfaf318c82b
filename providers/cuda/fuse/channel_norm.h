// SPDX-License-Identifier: Apache-2.0
// GroupNormalization and InstanceNormalization of tensors that may be channels-last, so that they
// need no transpose between channels-last convolutions. Pure functions.
#pragma once

#include <cstdint>
#include <memory>

#include "fuse/fusion.h"

namespace gantry::cuda {

/// Which tensors, [batch, channels, height, width], are channels-last (NHWC).
struct NormLayouts {
  bool x = false;
  bool y = false;
};

/// A GroupNormalization or InstanceNormalization node.
std::unique_ptr<Fusion> match_channel_norm(const sdk::FusionScope& scope, uint32_t root);

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// Finds the epilogue of a Conv or ConvTranspose: a residual addition of a tensor of the result's
// shape, and a Relu or a Clip from 0. Pure functions.
#pragma once

#include <cstdint>
#include <memory>

#include "fuse/fusion.h"

namespace gantry::cuda {

/// The epilogue of a convolution: y = relu(conv + addend).
struct ConvEpilogue {
  int addend_slot = -1;  ///< input slot of the claim; -1: no addition
  bool has_relu = false;
  float most = 0;  ///< upper bound of the Relu; 0: none
};

/// A convolution with its epilogue. The root is the first node.
struct ConvFusion : Fusion {
  ConvEpilogue epilogue;
};

/// The convolution at `root` and the following nodes that can be fused with it.
std::unique_ptr<ConvFusion> match_conv(const sdk::FusionScope& scope, uint32_t root);

/// Which tensors are channels-last, as the host has granted it.
struct ConvLayouts {
  bool x = false;
  bool addend = false;
  bool y = false;
};

}  // namespace gantry::cuda

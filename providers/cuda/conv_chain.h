// SPDX-License-Identifier: Apache-2.0
// A convolution, transposed or not, with what can be done while its result is written: the addition
// of a tensor of its shape and a Relu or a Clip from 0. Pure functions.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "operation.h"

namespace gantry::cuda {

/// What is done to a convolution's result.
struct ConvEpilogue {
  int addend_slot = -1;  ///< input slot of the claim that is added; -1: none
  bool has_relu = false;
  float most = 0;  ///< of the Relu; 0: no bound
};

struct ConvChain {
  std::vector<uint32_t> nodes;  ///< ascending, the convolution first; empty: it is none
  ConvEpilogue epilogue;
};

/// The convolution at `node` with the nodes behind it that may be taken (`may_take`, by node) and
/// that alone read what they read of it.
ConvChain conv_chain(const sdk::GraphIndex& index, uint32_t node,
                     const std::vector<bool>& may_take);

/// Which tensors stand channels-last, as the host has granted it.
struct ConvOrders {
  bool x = false;
  bool addend = false;
  bool y = false;
};

/// The kernel of a chain. `anchor`: Conv or ConvTranspose.
std::unique_ptr<Operation> make_conv(const sdk::NodeView& anchor, const ConvEpilogue& epilogue,
                                     const ConvOrders& orders);

/// Whether a convolution is faster channels-last, as those on tensor cores are: of 16-bit floats,
/// or of f32 whose factors may be rounded to TF32, over two axes.
bool prefers_channels_last(const sdk::NodeView& anchor, bool rounds_to_tf32);

}  // namespace gantry::cuda

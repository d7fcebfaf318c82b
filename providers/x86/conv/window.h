// SPDX-License-Identifier: Apache-2.0
// Where the windows of a convolution or a pooling lie: the attributes kernel_shape, strides,
// dilations, pads and auto_pad, which these operators share. Pure.
#pragma once

#include <gantry/sdk/graph.h>

#include <cstdint>
#include <string>
#include <vector>

#include "onednn/library.h"

namespace gantry::x86 {

/// One entry for each spatial axis.
struct Window {
  Dims kernel;
  Dims strides;
  Dims dilations;  ///< as ONNX counts: 1 is a dense window
  Dims pads_begin;
  Dims pads_end;
  enum class Auto : uint8_t { kNone, kSameUpper, kSameLower } automatic = Auto::kNone;
  bool rounds_up = false;  ///< pooling's ceil_mode

  /// The attributes of a node; why they cannot be taken, or empty.
  std::string read(const sdk::NodeView& node, size_t spatial_rank);

  /// What is settled by the input's extents.
  struct Placed {
    Dims output;
    Dims pads_begin;
    Dims pads_end;  ///< so that the windows cover the input exactly as far as `output` says
  };
  /// `input`: spatial extents. An extent of `output` is 0 or less where no window fits.
  [[nodiscard]] Placed place(const Dims& input) const;
};

}  // namespace gantry::x86

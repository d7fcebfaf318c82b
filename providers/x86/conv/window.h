// SPDX-License-Identifier: Apache-2.0
// The attributes that convolution and pooling share (kernel_shape, strides, dilations, pads,
// auto_pad, ceil_mode) and the output extents and padding that follow from them. Pure.
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

  /// Reads the attributes of a node; a missing kernel_shape leaves `kernel`. Returns why it refuses
  /// them, as a sentence without a final stop; empty: it does not.
  std::string read(const sdk::NodeView& node, size_t spatial_rank);

  /// What follows from the input's extents, one entry for each spatial axis.
  struct Placed {
    Dims output;
    Dims pads_begin;
    Dims pads_end;  ///< to the end of the last window; negative if the input ends after that
  };
  /// `input`: spatial extents. An extent of `output` is 0 if no window fits.
  [[nodiscard]] Placed place(const Dims& input) const;
};

}  // namespace gantry::x86

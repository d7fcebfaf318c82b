// SPDX-License-Identifier: Apache-2.0
// Recognises int8 matmuls and convolutions in a graph: a float operator between DequantizeLinear
// and QuantizeLinear, or an integer operator whose int32 sums are converted to floats and scaled.
// Pure functions.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "fuse/fusion.h"

namespace gantry::cuda {

/// Graph values that an int8 fusion reads. GANTRY_NONE: absent, which is a scale of 1 or a zero
/// point of 0.
struct Int8Operands {
  uint32_t x = GANTRY_NONE, x_scale = GANTRY_NONE, x_zero = GANTRY_NONE;  ///< the left operand
  uint32_t w = GANTRY_NONE, w_scale = GANTRY_NONE,
           w_zero = GANTRY_NONE;                          ///< the right operand, or weights
  uint32_t bias = GANTRY_NONE, bias_scale = GANTRY_NONE;  ///< floats; with a scale: i32
  uint32_t y_scale = GANTRY_NONE, y_zero = GANTRY_NONE;
};

/// An int8 matmul or convolution. Its sums fit into 32 bits.
struct Int8Fusion : Fusion {
  Int8Operands roles;
  uint32_t dtype = GANTRY_UNDEFINED;  ///< of the result: float, int8 or uint8
  /// Bounds of a fused Relu or Clip, before quantisation.
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();
};

/// Which tensors, [batch, channels, height, width], are channels-last (NHWC).
struct Int8ConvLayouts {
  bool x = false, y = false;
};

/// The fusion around a MatMul, Gemm or MatMulInteger.
std::unique_ptr<Int8Fusion> match_int8_matmul(const sdk::FusionScope& scope, uint32_t root);
/// The fusion around a Conv.
std::unique_ptr<Int8Fusion> match_int8_conv(const sdk::FusionScope& scope, uint32_t root);

}  // namespace gantry::cuda

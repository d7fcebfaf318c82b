// SPDX-License-Identifier: Apache-2.0
// Convolutions as matmuls by cuBLASLt: of the weights [channels, taps] with the windows as the
// columns of a matrix (im2col; Chellapilla, Puri, Simard 2006). cuDNN has few kernels that do not
// round f32 operands, and none for small extents that divides the sums among blocks.
#pragma once

#include <optional>

#include "operators/nn/window_shape.h"

namespace gantry::cuda {

/// The matmul of a convolution, of dense tensors [batch, channels, ...]. Nothing: it is none, the
/// columns would take too much memory, or cuBLASLt does not support it. `window`: complete but for
/// addresses and divisors.
std::optional<MatmulShape> conv_matmul_of(const Planner& planner, const WindowParameters& window,
                                          uint32_t dtype);

/// Adds the steps, without an epilogue. `x`, `w` and `y` as the operator's.
void plan_conv_matmul(Planner& planner, const WindowParameters& window, const MatmulShape& matmul,
                      const Buffer& x, const Buffer& w, const Buffer& y);

}  // namespace gantry::cuda

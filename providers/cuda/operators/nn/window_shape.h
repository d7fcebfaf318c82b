// SPDX-License-Identifier: Apache-2.0
// Attributes of operators with sliding windows, and the extents that follow from them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/nn/window.h"
#include "operators/operators.h"

namespace gantry::cuda {

/// The common attributes: kernel shape, strides, dilations, padding.
class Window {
 public:
  explicit Window(const sdk::NodeView& node);

  /// Parameters for a source [batch, channels, one to three axes]. The caller sets result_channels,
  /// out and count. `kernel`: shape of the window; empty: the attribute's. INVALID_ARGUMENT: they
  /// do not fit.
  [[nodiscard]] WindowParameters parameters(const Extents& x, Extents kernel) const;
  /// Sets the result extents of a convolution or pooling.
  void slide(WindowParameters& p) const;
  /// Sets the result extents and padding of a transposed convolution. `output_shape`: spatial
  /// extents, last; `output_padding`: added at the end. Both may be empty.
  void spread(WindowParameters& p, const Extents& output_shape, const Extents& output_padding,
              size_t spatial) const;

 private:
  Extents kernel_;
  Extents strides_;
  Extents dilations_;
  Extents pads_;
  std::string auto_pad_;
  bool rounds_up_;
};

/// Shape of the result, of `rank` axes.
Extents shape_of(const WindowParameters& p, size_t rank);

/// Checks that positions along each axis, padding and window included, fit into 31 bits.
/// UNSUPPORTED: an axis of 2^29 positions or more.
void check_positions(const WindowParameters& p);
/// Sets the divisors, for a kernel with one thread per result. UNSUPPORTED: as check_positions.
void settle_window(WindowParameters& parameters);

/// Plans the kernel in `file`, with one thread per result, of which there may be none.
/// `parameters`: complete but for the divisors; `addresses`: of their members; `define`: macro of
/// the kernel with its value. UNSUPPORTED: as check_positions.
void launch_window(Planner& planner, WindowParameters& parameters, const char* file,
                   const std::string& define, uint32_t dtype,
                   const std::vector<std::pair<const void* const*, Buffer>>& addresses);

}  // namespace gantry::cuda

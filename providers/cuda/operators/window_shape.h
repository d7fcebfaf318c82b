// SPDX-License-Identifier: Apache-2.0
// What operators with windows have in common: the attributes, and the extents that follow from
// them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../kernels/window.h"
#include "operators.h"

namespace gantry::cuda {

/// The attributes that all of them have.
class Window {
 public:
  explicit Window(const sdk::NodeView& node);

  /// Parameters of the source, [batch, channels, one to three axes], alone: result_channels, out
  /// and count are the caller's. `kernel`: of the window; empty: as the attribute says.
  /// INVALID_ARGUMENT: they do not fit.
  [[nodiscard]] WindowParameters parameters(const Extents& x, Extents kernel) const;
  /// Fills in the extents of the result of a window that goes over the source.
  void slide(WindowParameters& p) const;
  /// The same, and the padding that makes it, of a window that each place of the source spreads
  /// over. `output_shape`: wanted, [...,] spatial axes; `output_padding`: added behind. Both may be
  /// empty.
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

/// The kernels count places along an axis, from the padding before to the padding behind, and what
/// a window reaches over, in 31 bits. UNSUPPORTED: an axis of 2^29 places or more.
void check_places(const WindowParameters& p);
/// Fills in the divisors, for a kernel with a thread for each result. UNSUPPORTED: an axis of 2^29
/// places or more.
void settle_window(WindowParameters& parameters);

/// Plans the kernel in `file`, which has one thread for each result; there may be none.
/// `parameters` are complete but for the divisors, and `addresses` are of their members. `define`:
/// the macro that the kernel asks for, with its value. UNSUPPORTED: an axis of 2^29 places or
/// more.
void launch_window(Planner& planner, WindowParameters& parameters, const char* file,
                   const std::string& define, uint32_t dtype,
                   const std::vector<std::pair<const void* const*, Buffer>>& addresses);

}  // namespace gantry::cuda

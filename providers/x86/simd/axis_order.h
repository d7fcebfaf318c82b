// SPDX-License-Identifier: Apache-2.0
// The two orders in which a tensor [N, C, spatial...] passes between kernels, and the way from one
// to the other for code of this provider, which knows nothing of the library's descriptions.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstddef>
#include <cstdint>

namespace gantry::x86 {

/// The order of a tensor's axes in memory.
enum class AxisOrder : uint8_t {
  kDense,        ///< as the axes are numbered
  kChannelsLast  ///< axis 1 innermost
};

inline AxisOrder axis_order(bool is_channels_last) {
  return is_channels_last ? AxisOrder::kChannelsLast : AxisOrder::kDense;
}

/// True if both orders are the same bytes.
bool has_one_order(const sdk::Shape& shape);

/// Copies a tensor of `shape` that stands in order `from` at `source` to `target`, in the other
/// order, on the threads of the run. `element_bytes`: 1 or 4.
void exchange_order(sdk::Call& call, const sdk::Shape& shape, AxisOrder from, size_t element_bytes,
                    const void* source, void* target);

/// Where the tensor at `data` stands in order `wanted`: there, or in scratch memory of the call, to
/// which it is copied.
const void* in_order(sdk::Call& call, const void* data, const sdk::Shape& shape, AxisOrder order,
                     AxisOrder wanted, size_t element_bytes);

/// A result that is written channels-last, and that the host wants in `order` at `target`. Borrows
/// the extents of its shape. `element_bytes`: 1 or 4, here and above.
class ChannelsLastResult {
 public:
  ChannelsLastResult(sdk::Call& call, void* target, const sdk::Shape& shape, AxisOrder order,
                     size_t element_bytes);
  /// Where it is written.
  [[nodiscard]] void* data() const { return data_; }
  /// Brings what was written to where the host wants it.
  void finish(sdk::Call& call) const;

 private:
  void* target_;
  void* data_;
  sdk::Shape shape_;
  size_t element_bytes_;
};

}  // namespace gantry::x86

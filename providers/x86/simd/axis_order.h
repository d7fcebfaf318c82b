// SPDX-License-Identifier: Apache-2.0
// The two memory orders of a tensor [N, C, spatial...] between kernels, and reorders between them
// for code that does not use oneDNN's layouts.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstddef>
#include <cstdint>

namespace gantry::x86 {

/// The order of a tensor's axes in memory.
enum class AxisOrder : uint8_t {
  kDense,        ///< axes in order (NCHW)
  kChannelsLast  ///< axis 1 innermost
};

inline AxisOrder axis_order(bool is_channels_last) {
  return is_channels_last ? AxisOrder::kChannelsLast : AxisOrder::kDense;
}

/// True if both orders are the same bytes.
bool has_one_order(const sdk::Shape& shape);

/// Copies a tensor from order `from` to the other one, on the threads of the run. `element_bytes`:
/// 1 or 4.
void exchange_order(sdk::Call& call, const sdk::Shape& shape, AxisOrder from, size_t element_bytes,
                    const void* source, void* target);

/// The tensor at `data`, which is in `order`, in order `wanted`: `data` itself, or a reordered copy
/// in scratch memory of the call.
const void* in_order(sdk::Call& call, const void* data, const sdk::Shape& shape, AxisOrder order,
                     AxisOrder wanted, size_t element_bytes);

/// A result that a kernel writes channels-last and the host wants in `order` at `target`. Borrows
/// the extents of the shape. `element_bytes`: 1 or 4.
class ChannelsLastResult {
 public:
  ChannelsLastResult(sdk::Call& call, void* target, const sdk::Shape& shape, AxisOrder order,
                     size_t element_bytes);
  /// The memory that the kernel writes: `target`, or scratch memory of the call.
  [[nodiscard]] void* data() const { return data_; }
  /// Reorders the result to `target`, if data() is not that. Call it when data() is written.
  void finish(sdk::Call& call) const;

 private:
  void* target_;
  void* data_;
  sdk::Shape shape_;
  size_t element_bytes_;
};

}  // namespace gantry::x86

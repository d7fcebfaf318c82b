// SPDX-License-Identifier: Apache-2.0
// What QuantizeLinear and DequantizeLinear share: attributes, the check of their inputs, and the
// blocks in which they go through types that have no vector functions of their own. Immutable, any
// thread.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "attributes.h"
#include "float6.h"
#include "kernels/granularity.h"
#include "kernels/quantization.h"
#include "node_kernel.h"

namespace gantry::cpu {

/// What these operators quantize to; the products of quantized numbers know fewer types.
using AllQuantizedTypes = Concat<QuantizedTypes, Float6Types>;

/// Has functions of its own in quantize_math.h.
template <class U>
inline constexpr bool kIsVectorQuantized =
    std::is_same_v<U, uint8_t> || std::is_same_v<U, int8_t> || std::is_same_v<U, uint16_t> ||
    std::is_same_v<U, int16_t>;

/// Attributes and the check of the inputs that both directions share.
class Quantizer : public NodeKernel {
 protected:
  explicit Quantizer(const sdk::NodeView& node)
      : NodeKernel(node),
        axis_(node.get_int("axis", 1)),
        block_(read_integer(node, "block_size", 0, 0)),
        dtype_(static_cast<uint32_t>(node.get_int("output_dtype", 0))) {}

  [[nodiscard]] Granularity granularity(sdk::Call& call) const {
    if (call.has_input(2) && call.shape(2).element_count() != call.shape(1).element_count()) {
      fail("the zero point has shape " + to_string(call.shape(2)) + " and the scale " +
           to_string(call.shape(1)) + "; they must be equal");
    }
    return {call.shape(0), call.shape(1), axis_, block_, label()};
  }
  /// Zeros where there is no zero point.
  template <class Types, class C>
  static const C* zero_points(sdk::Call& call) {
    if (call.has_input(2)) return read_as<Types, C>(call, 2);
    const int64_t count = call.shape(1).element_count();
    auto* zeros = call.scratch<C>(count);
    std::fill_n(zeros, count, C{0});
    return zeros;
  }

  int64_t axis_;
  int64_t block_;
  uint32_t dtype_;  ///< of the output; GANTRY_UNDEFINED: follows from the inputs
};

}  // namespace gantry::cpu

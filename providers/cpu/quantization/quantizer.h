// SPDX-License-Identifier: Apache-2.0
// Shared by QuantizeLinear and DequantizeLinear: attributes, and the check of scale and zero point.
// Immutable, any thread.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "attributes.h"
#include "float6.h"
#include "node_kernel.h"
#include "quantization/granularity.h"
#include "quantization/quantization.h"

namespace gantry::cpu {

/// The quantized types of these operators. Quantized matmul and convolution support fewer.
using AllQuantizedTypes = Concat<QuantizedTypes, Float6Types>;

/// True if quantize_math.h has functions for U.
template <class U>
inline constexpr bool kIsVectorQuantized =
    std::is_same_v<U, uint8_t> || std::is_same_v<U, int8_t> || std::is_same_v<U, uint16_t> ||
    std::is_same_v<U, int16_t>;

/// Base of both kernels. Input 0 is the data, input 1 the scale, input 2 the optional zero point.
class Quantizer : public NodeKernel {
 protected:
  explicit Quantizer(const sdk::NodeView& node)
      : NodeKernel(node),
        axis_(node.get_int("axis", 1)),
        block_(read_integer(node, "block_size", 0, 0)),
        dtype_(static_cast<uint32_t>(node.get_int("output_dtype", 0))) {}

  /// Throws INVALID_ARGUMENT if the shapes of the data, the scale and the zero point do not fit.
  [[nodiscard]] Granularity granularity(sdk::Call& call) const {
    if (call.has_input(2) && call.shape(2).element_count() != call.shape(1).element_count()) {
      fail("the zero point has shape " + to_string(call.shape(2)) + " and the scale " +
           to_string(call.shape(1)) + "; they must be equal");
    }
    return {call.shape(0), call.shape(1), axis_, block_, label()};
  }
  /// The zero points converted to C, as many as scales; zeros if input 2 is absent.
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

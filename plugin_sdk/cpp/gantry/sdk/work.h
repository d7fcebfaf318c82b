// SPDX-License-Identifier: Apache-2.0
// The work of a node, computed from its types: operations and bytes, from which a provider
// estimates its time. Pure functions.
#pragma once

#include <gantry/sdk/bits.h>
#include <gantry/sdk/graph.h>

#include <cstdint>
#include <string_view>

namespace gantry::sdk {

/// Additions and multiplications, and bytes read and written. Unknown extents count as 1.
struct Work {
  bool is_known = true;  ///< false: the rank or element type of a tensor is not known
  double operations = 0;
  double bytes = 0;
};

/// Product of the extents from axis `first` on; unknown extents count as 1.
inline double extents(const ValueView& value, int first = 0) {
  double product = 1;
  for (int axis = first; axis < value.rank(); ++axis) {
    const int64_t extent = value.extent(axis);
    if (extent >= 0) product *= static_cast<double>(extent);
  }
  return product;
}

/// The work of one node. Conv, ConvTranspose, MatMul and Gemm: two operations for each
/// multiply-accumulate. Every other operator: one operation for each element of its outputs.
inline Work work_of(const NodeView& node) {
  Work work;
  const auto add = [&](const ValueView& value) {
    if (!value.present()) return;
    const int bits = bits_of(value.dtype());
    if (value.kind() != GANTRY_KIND_TENSOR || value.rank() < 0 || bits == 0) work.is_known = false;
    work.bytes += extents(value) * bits / 8;
  };
  for (int i = 0; i < node.input_count(); ++i) add(node.input(i));
  for (int i = 0; i < node.output_count(); ++i) {
    add(node.output(i));
    if (node.output(i).present()) work.operations += extents(node.output(i));
  }
  if (!work.is_known) return work;
  const std::string_view op_type = node.op_type();
  if (op_type == "Conv" && node.input_count() > 1) {
    work.operations = 2 * extents(node.output(0)) * extents(node.input(1), 1);
  } else if (op_type == "ConvTranspose" && node.input_count() > 1) {
    work.operations = 2 * extents(node.input(0)) * extents(node.input(1), 1);
  } else if (op_type == "MatMul" || op_type == "Gemm") {
    const ValueView left = node.input(0);
    const int axis = node.get_int("transA", 0) ? 0 : left.rank() - 1;
    const int64_t inner = left.rank() > 0 ? left.extent(axis) : 1;
    work.operations = 2 * extents(node.output(0)) * static_cast<double>(inner < 0 ? 1 : inner);
  }
  return work;
}

}  // namespace gantry::sdk

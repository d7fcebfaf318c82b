// SPDX-License-Identifier: Apache-2.0
// Base of kernels that check their inputs in each run (axes, indices, shapes). It stores the node's
// label, so that every error names its node, and has the most common checks. Failed checks throw
// INVALID_ARGUMENT. Immutable, any thread.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <string>

#include "dims.h"

namespace gantry::cpu {

class NodeKernel : public sdk::Kernel {
 protected:
  explicit NodeKernel(const sdk::NodeView& node) : label_(node.label()) {}

  [[noreturn]] void fail(const std::string& what,
                         gantry_code code = GANTRY_INVALID_ARGUMENT) const {
    throw sdk::Error(code, label_ + ": " + what);
  }
  [[nodiscard]] const std::string& label() const { return label_; }

  /// `axis` of [-rank, rank) as an axis of [0, rank).
  [[nodiscard]] int checked_axis(int64_t axis, int rank) const {
    if (axis < -rank || axis >= rank) {
      fail("axis " + std::to_string(axis) + " is outside a tensor of rank " + std::to_string(rank));
    }
    return static_cast<int>(axis < 0 ? axis + rank : axis);
  }
  /// Number of elements of an output shape that the kernel computed, see checked_count().
  [[nodiscard]] int64_t count_of(sdk::Shape shape) const {
    return checked_count(shape.data, shape.rank, label_);
  }
  void require_rank(sdk::Call& call, int slot, int rank) const {
    if (call.shape(slot).rank != rank) {
      fail("input " + std::to_string(slot) + " has rank " + std::to_string(call.shape(slot).rank) +
           ", needs " + std::to_string(rank));
    }
  }
  /// The elements of an int64 or int32 input of rank 0 or 1.
  [[nodiscard]] Dims read_ints(sdk::Call& call, int slot) const {
    const gantry_tensor& tensor = call.input(slot);
    if (tensor.rank > 1) {
      fail("input " + std::to_string(slot) + " has rank " + std::to_string(tensor.rank) +
           ", needs a list of integers");
    }
    Dims values;
    values.resize(tensor.rank == 0 ? 1 : tensor.shape[0]);
    for (int i = 0; i < values.rank(); ++i) values[i] = int_at(tensor, i, slot);
    return values;
  }
  /// The value of an int64 or int32 input with exactly one element, of any rank.
  [[nodiscard]] int64_t read_int(sdk::Call& call, int slot) const {
    const gantry_tensor& tensor = call.input(slot);
    if (sdk::Shape(tensor).element_count() != 1) {
      fail("input " + std::to_string(slot) + " has shape " + to_string(sdk::Shape(tensor)) +
           ", needs one element");
    }
    return int_at(tensor, 0, slot);
  }

 private:
  [[nodiscard]] int64_t int_at(const gantry_tensor& tensor, int index, int slot) const {
    if (tensor.dtype == GANTRY_INT64) return static_cast<const int64_t*>(tensor.data)[index];
    if (tensor.dtype == GANTRY_INT32) return static_cast<const int32_t*>(tensor.data)[index];
    fail("input " + std::to_string(slot) + " has element type " + std::to_string(tensor.dtype) +
         " (ONNX TensorProto number), needs int64 or int32");
  }

  std::string label_;
};

}  // namespace gantry::cpu

// SPDX-License-Identifier: Apache-2.0
#include "kernels/softmax_pattern.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace gantry::cpu {
namespace {

bool is_small(gantry_dtype dtype) { return dtype == GANTRY_FLOAT16 || dtype == GANTRY_BFLOAT16; }

/// One 16-bit float that is 0.
bool is_zero(const sdk::ValueView& value) {
  const gantry_tensor* tensor = value.constant();
  if (!tensor || !is_small(static_cast<gantry_dtype>(tensor->dtype))) return false;
  for (uint32_t axis = 0; axis < tensor->rank; ++axis) {
    if (tensor->shape[axis] != 1) return false;
  }
  uint16_t bits = 1;
  std::memcpy(&bits, tensor->data, sizeof(bits));
  return (bits & 0x7FFFU) == 0;
}

/// True if the condition says something for each row of `scores`, and makes nothing larger.
bool hides_rows(const sdk::ValueView& condition, const sdk::ValueView& scores) {
  const int rank = condition.rank();
  if (rank < 0 || scores.rank() < 1 || rank > scores.rank()) return false;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t extent = condition.extent(axis);
    if (extent == 1) continue;
    const bool is_last = axis + 1 == rank;
    if (is_last || extent < 0 || extent != scores.extent(axis + scores.rank() - rank)) return false;
  }
  return true;
}

/// True if each line along the last axis is normalized by itself.
bool is_along_last(const sdk::GraphIndex& index, uint32_t softmax) {
  const sdk::NodeView node = index.node(softmax);
  // Before version 13 the axes from the attribute's on are one.
  const int64_t axis = node.get_int("axis", node.since_version() < 13 ? 1 : -1);
  return axis == -1 || (node.input(0).rank() > 0 && axis == node.input(0).rank() - 1);
}

class Finder {
 public:
  Finder(const sdk::GraphIndex& index, const std::function<bool(uint32_t)>& may_take)
      : index_(index), may_take_(may_take) {}

  std::optional<SoftmaxProduct> around(uint32_t softmax) {
    if (!is(softmax, "Softmax", 1) || !is_along_last(index_, softmax)) return std::nullopt;
    take(softmax);
    if (!find_scores(softmax) || !find_product(index_.raw(softmax).outputs[0])) return std::nullopt;
    std::sort(found_.nodes.begin(), found_.nodes.end());
    return std::move(found_);
  }

 private:
  /// True of a node of the standard's domain that may be taken and has its inputs and its output.
  [[nodiscard]] bool is(uint32_t node, std::string_view op_type, int inputs) const {
    if (node == GANTRY_NONE || !may_take_(node)) return false;
    const sdk::NodeView view = index_.node(node);
    if (!view.domain().empty() || view.op_type() != op_type || view.input_count() != inputs)
      return false;
    for (int i = 0; i < inputs; ++i) {
      if (!view.input(i).present()) return false;
    }
    return view.output_count() == 1 && view.output(0).present();
  }
  [[nodiscard]] gantry_dtype dtype(uint32_t value) const { return index_.value(value).dtype(); }
  void take(uint32_t node) { found_.nodes.push_back(node); }

  /// What a Cast to f32 reads, if only the Softmax reads what it makes.
  bool find_scores(uint32_t softmax) {
    found_.scores = index_.raw(softmax).inputs[0];
    const uint32_t cast = index_.producer(found_.scores);
    if (dtype(found_.scores) != GANTRY_FLOAT) return is_small(dtype(found_.scores));
    if (!is(cast, "Cast", 1) || index_.only_reader(found_.scores) != softmax) return true;
    const uint32_t source = index_.raw(cast).inputs[0];
    if (!is_small(dtype(source))) return true;
    take(cast);
    found_.scores = source;
    return true;
  }

  /// From what the Softmax makes to the product.
  bool find_product(uint32_t value) {
    uint32_t node = index_.only_reader(value);
    if (is(node, "Cast", 1)) {
      const uint32_t small = index_.raw(node).outputs[0];
      // From one kind of 16 bits to the other it would do more than to round.
      if (dtype(value) != GANTRY_FLOAT && dtype(value) != dtype(small)) return false;
      take(node);
      value = small;
      node = index_.only_reader(value);
    }
    if (is(node, "Where", 3)) {
      if (!find_hidden(index_.raw(node), value)) return false;
      take(node);
      value = index_.raw(node).outputs[0];
      node = index_.only_reader(value);
    }
    if (!is(node, "MatMul", 2) || index_.raw(node).inputs[0] != value) return false;
    take(node);
    found_.matmul = node;
    found_.factor = index_.raw(node).inputs[1];
    return is_small(dtype(value)) && dtype(found_.factor) == dtype(value);
  }

  /// Where(condition, 0, value)
  bool find_hidden(const gantry_node& where, uint32_t value) {
    found_.hidden = where.inputs[0];
    const sdk::ValueView zero = index_.value(where.inputs[1]);
    return where.inputs[2] == value && is_zero(zero) && zero.rank() <= index_.value(value).rank() &&
           hides_rows(index_.value(found_.hidden), index_.value(value));
  }

  const sdk::GraphIndex& index_;
  const std::function<bool(uint32_t)>& may_take_;
  SoftmaxProduct found_;
};

}  // namespace

std::optional<SoftmaxProduct> softmax_product_of(const sdk::GraphIndex& index, uint32_t softmax,
                                                 const std::function<bool(uint32_t)>& may_take) {
  return Finder(index, may_take).around(softmax);
}

}  // namespace gantry::cpu

// SPDX-License-Identifier: Apache-2.0
#include "byte_unit.h"

#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "types.h"

namespace gantry::cuda {
namespace {

constexpr sdk::DTypeSet kBytes = sdk::dtypes(GANTRY_INT8, GANTRY_UINT8);
// Of so many products of numbers below 2^8 in size a sum fits into 32 bits.
constexpr int64_t kMostDepth = 32768;

bool is_bytes(const sdk::ValueView& value) { return (sdk::dtype_bit(value.dtype()) & kBytes) != 0; }

// Whether it is known to be one number.
bool is_single(const sdk::ValueView& value) {
  return value.rank() == 0 || (value.rank() == 1 && value.extent(0) == 1);
}

// Whether it is known to be one number, or `count` along one axis.
bool is_single_or_of(const sdk::ValueView& value, int64_t count) {
  return is_single(value) || (value.rank() == 1 && count > 0 && value.extent(0) == count);
}

std::optional<float> number_of(const sdk::ValueView& value) {
  const gantry_tensor* tensor = value.constant();
  if (!tensor || tensor->dtype != GANTRY_FLOAT || sdk::Shape(*tensor).element_count() != 1)
    return std::nullopt;
  float number = 0;
  std::memcpy(&number, tensor->data, sizeof(number));
  return number;
}

// Puts a unit together round its anchor.
class Finder {
 public:
  Finder(const sdk::GraphIndex& index, uint32_t anchor, const std::vector<bool>& may_take)
      : index_(index), may_take_(may_take), node_(index.node(anchor)) {
    unit_.anchor = anchor;
    unit_.nodes = {anchor};
  }

  ByteUnit find() {
    if (!node_.domain().empty() ||
        !(node_.op_type() == "MatMulInteger" ? take_sums() : take_dequantized()))
      return {};
    take_bounds();
    take_quantize();
    std::sort(unit_.nodes.begin(), unit_.nodes.end());
    return unit_;
  }

 private:
  [[nodiscard]] uint32_t last_value() const { return index_.raw(last_).outputs[0]; }

  // The node that alone reads what the unit makes so far.
  [[nodiscard]] uint32_t next() const {
    if (index_.raw(last_).output_count != 1) return GANTRY_NONE;
    const uint32_t reader = index_.only_reader(last_value());
    return reader != GANTRY_NONE && may_take_[reader] ? reader : GANTRY_NONE;
  }
  void take(uint32_t node) {
    unit_.nodes.push_back(node);
    last_ = node;
  }
  // Input `i` of a node, by its number among values.
  [[nodiscard]] uint32_t input(uint32_t node, uint32_t i) const {
    return i < index_.raw(node).input_count ? index_.raw(node).inputs[i] : GANTRY_NONE;
  }

  // Extent of the result's channels, along which scales and a bias may differ; -1: not known.
  [[nodiscard]] int64_t channels() const {
    const sdk::ValueView w = node_.input(1);
    if (w.rank() < 2) return -1;
    return w.extent(channel_axis());
  }
  [[nodiscard]] int channel_axis() const {
    const int rank = node_.input(1).rank();
    if (node_.op_type() == "Conv") return 0;
    return node_.op_type() == "Gemm" && node_.get_int("transB", 0) != 0 ? rank - 2 : rank - 1;
  }
  // Products in a sum, -1: not known.
  [[nodiscard]] int64_t depth() const {
    const sdk::ValueView w = node_.input(1);
    if (node_.op_type() != "Conv")
      return w.extent(channel_axis() == w.rank() - 1 ? w.rank() - 2 : w.rank() - 1);
    int64_t count = 1;
    for (int axis = 1; axis < w.rank(); ++axis) {
      if (w.extent(axis) < 0) return -1;
      count *= w.extent(axis);
    }
    return count;
  }

  // A node of floats whose operands are dequantised.
  bool take_dequantized() {
    const bool is_conv = node_.op_type() == "Conv";
    const bool is_gemm = node_.op_type() == "Gemm" && node_.since_version() >= 7;
    if ((!is_conv && !is_gemm && node_.op_type() != "MatMul") ||
        node_.input(0).dtype() != GANTRY_FLOAT)
      return false;
    const int least_rank = is_conv ? 3 : 2;
    if (node_.input(0).rank() < least_rank || node_.input(1).rank() < least_rank) return false;
    if (is_conv && node_.input(1).rank() > 5) return false;
    const int64_t products = depth();
    if (products < 0 || products > kMostDepth) return false;
    if (is_gemm && (node_.get_float("alpha", 1) != 1 || node_.get_float("beta", 1) != 1))
      return false;
    ByteRoles& roles = unit_.roles;
    if (!take_operand(0, -1, roles.x, roles.x_scale, roles.x_zero) ||
        !take_operand(1, channel_axis(), roles.w, roles.w_scale, roles.w_zero))
      return false;
    last_ = unit_.anchor;
    unit_.dtype = GANTRY_FLOAT;
    if (node_.input(2).present()) return take_bias(input(unit_.anchor, 2));
    take_added_bias();
    return true;
  }

  // The DequantizeLinear of an operand, with one scale or, along `axis`, several.
  bool take_operand(uint32_t slot, int axis, uint32_t& value, uint32_t& scale, uint32_t& zero) {
    const uint32_t made = input(unit_.anchor, slot);
    const uint32_t node = index_.producer(made);
    if (node == GANTRY_NONE || !may_take_[node] || index_.only_reader(made) != unit_.anchor)
      return false;
    const sdk::NodeView view = index_.node(node);
    if (view.op_type() != "DequantizeLinear" || !is_bytes(view.input(0)) ||
        view.input(1).dtype() != GANTRY_FLOAT || view.get_int("block_size", 0) != 0)
      return false;
    if (!is_single(view.input(1))) {
      const int rank = view.input(0).rank();
      if (axis < 0 || view.input(1).rank() != 1 || rank < 1 ||
          checked_axis(view.get_int("axis", 1), rank, "axis") != axis)
        return false;
    }
    unit_.nodes.push_back(node);
    value = input(node, 0);
    scale = input(node, 1);
    zero = input(node, 2);
    return true;
  }

  // A bias of floats, or the DequantizeLinear of one of i32.
  bool take_bias(uint32_t value) {
    const sdk::ValueView bias = index_.value(value);
    if (bias.rank() != 1 || !is_single_or_of(bias, channels()) || bias.dtype() != GANTRY_FLOAT)
      return false;
    unit_.roles.bias = value;
    const uint32_t node = index_.producer(value);
    if (node == GANTRY_NONE || !may_take_[node] || index_.only_reader(value) == GANTRY_NONE)
      return true;
    const sdk::NodeView view = index_.node(node);
    const bool has_zero = view.input(2).present() && !is_zero(view.input(2));
    if (view.op_type() != "DequantizeLinear" || view.input(0).dtype() != GANTRY_INT32 ||
        view.input(1).dtype() != GANTRY_FLOAT || view.get_int("block_size", 0) != 0 || has_zero)
      return true;
    unit_.nodes.push_back(node);
    unit_.roles.bias = input(node, 0);
    unit_.roles.bias_scale = input(node, 1);
    return true;
  }

  static bool is_zero(const sdk::ValueView& value) {
    const gantry_tensor* tensor = value.constant();
    if (!tensor) return false;
    const auto* bytes = static_cast<const uint8_t*>(tensor->data);
    return std::all_of(bytes, bytes + tensor->size_bytes, [](uint8_t byte) { return byte == 0; });
  }

  // An Add of a bias behind a product.
  void take_added_bias() {
    const uint32_t node = next();
    if (node_.op_type() == "Conv" || node == GANTRY_NONE || index_.node(node).op_type() != "Add")
      return;
    const uint32_t other = input(node, input(node, 0) == last_value() ? 1 : 0);
    // What is broadcast to more columns than the product has is none.
    if (channels() < 0 || other == last_value() || !take_bias(other)) return;
    take(node);
  }

  // Sums of integers that become floats and are multiplied by a scale.
  bool take_sums() {
    const sdk::ValueView b = node_.input(1);
    if (node_.input(0).rank() < 2 || b.rank() < 2 || node_.input(2).rank() > 1 ||
        node_.input(3).rank() > 1)
      return false;
    last_ = unit_.anchor;
    const uint32_t cast = next();
    if (cast == GANTRY_NONE || index_.node(cast).op_type() != "Cast" ||
        index_.node(cast).output(0).dtype() != GANTRY_FLOAT)
      return false;
    take(cast);
    const uint32_t scaling = next();
    if (scaling == GANTRY_NONE || index_.node(scaling).op_type() != "Mul") return false;
    const uint32_t scale = input(scaling, input(scaling, 0) == last_value() ? 1 : 0);
    if (scale == last_value() || !is_single_or_of(index_.value(scale), channels())) return false;
    take(scaling);
    unit_.roles.x = input(unit_.anchor, 0);
    unit_.roles.w = input(unit_.anchor, 1);
    unit_.roles.x_zero = input(unit_.anchor, 2);
    unit_.roles.w_zero = input(unit_.anchor, 3);
    unit_.roles.w_scale = scale;
    unit_.dtype = GANTRY_FLOAT;
    take_added_bias();
    return true;
  }

  // A Relu or a Clip whose bounds are known.
  void take_bounds() {
    const uint32_t node = next();
    if (node == GANTRY_NONE) return;
    const sdk::NodeView view = index_.node(node);
    if (view.op_type() == "Relu") {
      unit_.least = 0;
      return take(node);
    }
    if (view.op_type() != "Clip" || view.since_version() < 11) return;
    std::optional<float> least = unit_.least;
    std::optional<float> most = unit_.most;
    if (view.input(1).present()) least = number_of(view.input(1));
    if (view.input(2).present()) most = number_of(view.input(2));
    if (!least || !most || !(*least <= *most)) return;
    unit_.least = *least;
    unit_.most = *most;
    take(node);
  }

  void take_quantize() {
    const uint32_t node = next();
    if (node == GANTRY_NONE) return;
    const sdk::NodeView view = index_.node(node);
    if (view.op_type() != "QuantizeLinear" || !is_bytes(view.output(0)) ||
        view.input(1).dtype() != GANTRY_FLOAT || !is_single(view.input(1)))
      return;
    unit_.roles.y_scale = input(node, 1);
    unit_.roles.y_zero = input(node, 2);
    unit_.dtype = view.output(0).dtype();
    take(node);
  }

  const sdk::GraphIndex& index_;
  const std::vector<bool>& may_take_;
  sdk::NodeView node_;
  ByteUnit unit_;
  uint32_t last_ = 0;  // node whose result the unit's is so far
};

}  // namespace

bool makes_channels_last(const sdk::GraphIndex& index, const ByteUnit& unit) {
  const sdk::NodeView anchor = index.node(unit.anchor);
  return anchor.op_type() == "Conv" && anchor.input(0).rank() == 4 && anchor.input(1).rank() == 4;
}

bool reads_channels_last(const sdk::GraphIndex& index, const ByteUnit& unit) {
  if (!makes_channels_last(index, unit)) return false;
  const sdk::NodeView anchor = index.node(unit.anchor);
  const sdk::ValueView w = anchor.input(1);
  constexpr int64_t kVector = 16;  // that kernels of tiles read as one
  const bool is_by_windows = w.extent(0) >= 0 && w.extent(0) / anchor.get_int("group", 1) < 8;
  return is_by_windows || (w.extent(1) > 0 && w.extent(1) % kVector == 0);
}

int slot_in(const sdk::GraphIndex& index, const ByteUnit& unit, uint32_t value) {
  const std::vector<sdk::InputSlot> slots = index.input_slots(unit.nodes);
  const auto found = std::find_if(slots.begin(), slots.end(),
                                  [&](const auto& slot) { return slot.value == value; });
  return value == GANTRY_NONE || found == slots.end() ? -1
                                                      : static_cast<int>(found - slots.begin());
}

ByteUnit byte_unit(const sdk::GraphIndex& index, uint32_t anchor,
                   const std::vector<bool>& may_take) {
  return Finder(index, anchor, may_take).find();
}

}  // namespace gantry::cuda

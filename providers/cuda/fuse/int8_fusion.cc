// SPDX-License-Identifier: Apache-2.0
#include "fuse/int8_fusion.h"

#include <gantry/sdk/rows.h>

#include <algorithm>

#include "plan/types.h"

namespace gantry::cuda {
namespace {

constexpr sdk::DTypeSet kBytes = sdk::dtypes(GANTRY_INT8, GANTRY_UINT8);
// A sum of this many products of 8-bit numbers fits into 32 bits.
constexpr int64_t kMostDepth = 32768;

bool is_bytes(const sdk::ValueView& value) { return (sdk::dtype_bit(value.dtype()) & kBytes) != 0; }

// Whether the value is known to be one number.
bool is_single(const sdk::ValueView& value) {
  return value.rank() == 0 || (value.rank() == 1 && value.extent(0) == 1);
}

// Whether the value is known to be one number, or `count` along one axis.
bool is_single_or_of(const sdk::ValueView& value, int64_t count) {
  return is_single(value) || (value.rank() == 1 && count > 0 && value.extent(0) == count);
}

// Collects the fusion around a root node.
class Int8Matcher {
 public:
  Int8Matcher(const sdk::FusionScope& scope, uint32_t root)
      : scope_(scope), index_(scope.index()), node_(scope.index().node(root)) {
    fusion_.root = root;
    fusion_.nodes = {root};
  }

  std::unique_ptr<Int8Fusion> find() {
    if (!(node_.op_type() == "MatMulInteger" ? take_sums() : take_dequantized())) return nullptr;
    take_bounds();
    take_quantize();
    std::sort(fusion_.nodes.begin(), fusion_.nodes.end());
    return std::make_unique<Int8Fusion>(fusion_);
  }

 private:
  [[nodiscard]] uint32_t last_value() const { return sdk::result_of(index_, last_); }
  [[nodiscard]] uint32_t next() const { return next_of(scope_, last_); }
  void take(uint32_t node) {
    fusion_.nodes.push_back(node);
    last_ = node;
  }
  // The value of input `i` of a node.
  [[nodiscard]] uint32_t input(uint32_t node, uint32_t i) const {
    return i < index_.raw(node).input_count ? index_.raw(node).inputs[i] : GANTRY_NONE;
  }

  // Number of output channels, the axis of per-channel scales and of the bias; -1: unknown.
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
  // Terms of a sum; -1: unknown.
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
    const int64_t terms = depth();
    if (terms < 0 || terms > kMostDepth) return false;
    if (is_gemm && (node_.get_float("alpha", 1) != 1 || node_.get_float("beta", 1) != 1))
      return false;
    Int8Operands& roles = fusion_.roles;
    if (!take_operand(0, -1, roles.x, roles.x_scale, roles.x_zero) ||
        !take_operand(1, channel_axis(), roles.w, roles.w_scale, roles.w_zero))
      return false;
    last_ = fusion_.root;
    fusion_.dtype = GANTRY_FLOAT;
    if (node_.input(2).present()) return take_bias(input(fusion_.root, 2));
    take_added_bias();
    return true;
  }

  // The DequantizeLinear of an operand, with one scale or, along `axis`, several.
  bool take_operand(uint32_t slot, int axis, uint32_t& value, uint32_t& scale, uint32_t& zero) {
    const uint32_t made = input(fusion_.root, slot);
    const uint32_t node = index_.producer(made);
    if (!scope_.may_fuse(node) || index_.only_reader(made) != fusion_.root) return false;
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
    fusion_.nodes.push_back(node);
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
    fusion_.roles.bias = value;
    const uint32_t node = index_.producer(value);
    if (!scope_.may_fuse(node) || index_.only_reader(value) == GANTRY_NONE) return true;
    const sdk::NodeView view = index_.node(node);
    const bool has_zero = view.input(2).present() && !is_zero(view.input(2));
    if (view.op_type() != "DequantizeLinear" || view.input(0).dtype() != GANTRY_INT32 ||
        view.input(1).dtype() != GANTRY_FLOAT || view.get_int("block_size", 0) != 0 || has_zero)
      return true;
    fusion_.nodes.push_back(node);
    fusion_.roles.bias = input(node, 0);
    fusion_.roles.bias_scale = input(node, 1);
    return true;
  }

  static bool is_zero(const sdk::ValueView& value) {
    const gantry_tensor* tensor = value.constant();
    if (!tensor) return false;
    const auto* bytes = static_cast<const uint8_t*>(tensor->data);
    return std::all_of(bytes, bytes + tensor->size_bytes, [](uint8_t byte) { return byte == 0; });
  }

  // An Add of a bias behind a matmul.
  void take_added_bias() {
    const uint32_t node = next();
    if (node_.op_type() == "Conv" || !sdk::is_operator(index_, node, "Add", 2)) return;
    const uint32_t other = sdk::other_operand(index_, node, last_value());
    // Without the extent of the columns, the Add might broadcast the matmul's result.
    if (channels() < 0 || other == GANTRY_NONE || !take_bias(other)) return;
    take(node);
  }

  // Sums of integers that become floats and are multiplied by a scale.
  bool take_sums() {
    const sdk::ValueView b = node_.input(1);
    if (node_.input(0).rank() < 2 || b.rank() < 2 || node_.input(2).rank() > 1 ||
        node_.input(3).rank() > 1)
      return false;
    last_ = fusion_.root;
    const uint32_t cast = next();
    if (!sdk::is_operator(index_, cast, "Cast") ||
        index_.node(cast).output(0).dtype() != GANTRY_FLOAT)
      return false;
    take(cast);
    const uint32_t scaling = next();
    if (!sdk::is_operator(index_, scaling, "Mul", 2)) return false;
    const uint32_t scale = sdk::other_operand(index_, scaling, last_value());
    if (scale == GANTRY_NONE || !is_single_or_of(index_.value(scale), channels())) return false;
    take(scaling);
    fusion_.roles.x = input(fusion_.root, 0);
    fusion_.roles.w = input(fusion_.root, 1);
    fusion_.roles.x_zero = input(fusion_.root, 2);
    fusion_.roles.w_zero = input(fusion_.root, 3);
    fusion_.roles.w_scale = scale;
    fusion_.dtype = GANTRY_FLOAT;
    take_added_bias();
    return true;
  }

  // A Relu or a Clip whose bounds are known.
  void take_bounds() {
    const uint32_t node = next();
    if (node == GANTRY_NONE) return;
    const sdk::NodeView view = index_.node(node);
    if (view.op_type() == "Clip" && view.since_version() < 11) return;
    float least = 0;
    float most = 0;
    if (!find_bounds(view, least, most) || !(least <= most)) return;
    fusion_.least = least;
    fusion_.most = most;
    take(node);
  }

  void take_quantize() {
    const uint32_t node = next();
    if (node == GANTRY_NONE) return;
    const sdk::NodeView view = index_.node(node);
    if (view.op_type() != "QuantizeLinear" || !is_bytes(view.output(0)) ||
        view.input(1).dtype() != GANTRY_FLOAT || !is_single(view.input(1)))
      return;
    fusion_.roles.y_scale = input(node, 1);
    fusion_.roles.y_zero = input(node, 2);
    fusion_.dtype = view.output(0).dtype();
    take(node);
  }

  const sdk::FusionScope& scope_;
  const sdk::GraphIndex& index_;
  sdk::NodeView node_;
  Int8Fusion fusion_;
  uint32_t last_ = 0;  // fused last: its result is the fusion's
};

// Sets what of a convolution can be channels-last.
void set_layouts(const sdk::GraphIndex& index, Int8Fusion& fusion) {
  const sdk::NodeView root = index.node(fusion.root);
  const sdk::ValueView w = root.input(1);
  if (root.input(0).rank() != 4 || w.rank() != 4) return;
  fusion.channels_last = ChannelsLast::kAlways;
  constexpr int64_t kVector = 16;        // elements that the kernel of tiles reads at once
  constexpr int64_t kLeastChannels = 8;  // of a group, for the kernel of tiles
  const bool is_by_windows =
      w.extent(0) >= 0 && w.extent(0) / root.get_int("group", 1) < kLeastChannels;
  if (is_by_windows || (w.extent(1) > 0 && w.extent(1) % kVector == 0))
    fusion.channels_last_inputs = {fusion.roles.x};
}

}  // namespace

std::unique_ptr<Int8Fusion> match_int8_matmul(const sdk::FusionScope& scope, uint32_t root) {
  const sdk::GraphIndex& index = scope.index();
  if (!sdk::is_operator(index, root, "MatMul") && !sdk::is_operator(index, root, "Gemm") &&
      !sdk::is_operator(index, root, "MatMulInteger"))
    return nullptr;
  return Int8Matcher(scope, root).find();
}

std::unique_ptr<Int8Fusion> match_int8_conv(const sdk::FusionScope& scope, uint32_t root) {
  if (!sdk::is_operator(scope.index(), root, "Conv")) return nullptr;
  std::unique_ptr<Int8Fusion> fusion = Int8Matcher(scope, root).find();
  if (fusion) set_layouts(scope.index(), *fusion);
  return fusion;
}

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
#include "fuse/fusion.h"

#include <limits>
#include <optional>

#include "plan/types.h"

namespace gantry::cuda {
namespace {

// The only element of a constant float tensor.
std::optional<float> constant_of(const sdk::ValueView& value) {
  const gantry_tensor* tensor = value.constant();
  if (!tensor || sdk::Shape(*tensor).element_count() != 1) return std::nullopt;
  if (tensor->dtype != GANTRY_FLOAT && tensor->dtype != GANTRY_FLOAT16) return std::nullopt;
  return static_cast<float>(number_at(tensor->dtype, tensor->data));
}

}  // namespace

ChannelsLast channels_last_of(const sdk::ValueView& x) {
  if (x.rank() != 4) return ChannelsLast::kNever;
  if (x.dtype() == GANTRY_FLOAT16 || x.dtype() == GANTRY_BFLOAT16) return ChannelsLast::kWithCudnn;
  return x.dtype() == GANTRY_FLOAT ? ChannelsLast::kWithCudnnTf32 : ChannelsLast::kNever;
}

bool find_bounds(const sdk::NodeView& node, float& out_least, float& out_most) {
  if (!node.domain().empty()) return false;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (node.op_type() == "Relu") {
    out_least = 0;
    out_most = kInfinity;
    return true;
  }
  if (node.op_type() != "Clip") return false;
  if (node.since_version() < 11) {
    out_least = node.get_float("min", -kInfinity);
    out_most = node.get_float("max", kInfinity);
    return true;
  }
  const auto bound = [&](int slot, float absent) {
    return node.input(slot).present() ? constant_of(node.input(slot)) : absent;
  };
  const std::optional<float> least = bound(1, -kInfinity);
  const std::optional<float> most = bound(2, kInfinity);
  if (!least || !most) return false;
  out_least = *least;
  out_most = *most;
  return true;
}

}  // namespace gantry::cuda

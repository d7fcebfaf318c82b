// SPDX-License-Identifier: Apache-2.0
#include "fuse/activation.h"

#include <limits>

#include "fuse/constants.h"

namespace gantry::x86 {
namespace {

using dnnl::algorithm;

// Clip: attributes before version 11, inputs since.
std::optional<Activation> clip_of(const sdk::NodeView& node) {
  float low = std::numeric_limits<float>::lowest();
  float high = std::numeric_limits<float>::max();
  if (node.since_version() < 11) {
    low = node.get_float("min", low);
    high = node.get_float("max", high);
  } else {
    for (int i = 1; i < 3; ++i) {
      if (!node.input(i).present()) continue;
      const std::optional<float> bound = scalar_of(node.input(i));
      if (!bound) return std::nullopt;
      (i == 1 ? low : high) = *bound;
    }
  }
  if (!(low <= high)) return std::nullopt;
  return Activation{algorithm::eltwise_clip, low, high};
}

}  // namespace

std::optional<Activation> activation_of(const sdk::NodeView& node) {
  if (!node.domain().empty()) return std::nullopt;
  const std::string_view op = node.op_type();
  if (op == "Relu") return Activation{algorithm::eltwise_relu, 0, 0};
  if (op == "LeakyRelu")
    return Activation{algorithm::eltwise_relu, node.get_float("alpha", 0.01F), 0};
  if (op == "PRelu") {  // of one slope for all
    const std::optional<float> slope =
        node.input(1).is_constant() ? scalar_of(node.input(1)) : std::nullopt;
    if (!slope) return std::nullopt;
    return Activation{algorithm::eltwise_relu, *slope, 0};
  }
  if (op == "Clip") return clip_of(node);
  if (op == "Sigmoid") return Activation{algorithm::eltwise_logistic, 0, 0};
  if (op == "Tanh") return Activation{algorithm::eltwise_tanh, 0, 0};
  if (op == "Elu") return Activation{algorithm::eltwise_elu, node.get_float("alpha", 1), 0};
  if (op == "HardSigmoid") {
    return Activation{algorithm::eltwise_hardsigmoid, node.get_float("alpha", 0.2F),
                      node.get_float("beta", 0.5F)};
  }
  if (op == "HardSwish") return Activation{algorithm::eltwise_hardswish, 1.0F / 6.0F, 0.5F};
  if (op == "Gelu") {
    return Activation{node.get_string("approximate", "none") == "tanh"
                          ? algorithm::eltwise_gelu_tanh
                          : algorithm::eltwise_gelu_erf,
                      0, 0};
  }
  if (op == "Mish") return Activation{algorithm::eltwise_mish, 0, 0};
  return std::nullopt;
}

}  // namespace gantry::x86

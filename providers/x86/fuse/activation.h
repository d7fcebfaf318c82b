// SPDX-License-Identifier: Apache-2.0
// Activations as oneDNN's eltwise algorithms, which it computes alone or as a post-op. Pure
// functions.
#pragma once

#include <gantry/sdk/graph.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

namespace gantry::x86 {

/// An eltwise algorithm with its two parameters, as oneDNN defines them.
struct Activation {
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0;
  float beta = 0;
};

/// The activation that a node applies to its first input: Relu, LeakyRelu, PRelu of one slope,
/// Clip, Sigmoid, Tanh, Elu, HardSigmoid, HardSwish, Gelu, Mish (ai.onnx, every version). Nothing
/// for other nodes, and if a slope or bound is not constant.
std::optional<Activation> activation_of(const sdk::NodeView& node);

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// Element-wise functions of one tensor that oneDNN can compute by themselves or behind another
// primitive. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

namespace gantry::x86 {

struct Activation {
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0;
  float beta = 0;
};

/// The function that a node computes of its first input, all else being constant; nothing if it is
/// none of those that the library knows. Operators of ai.onnx, every version.
std::optional<Activation> activation_of(const sdk::NodeView& node);

}  // namespace gantry::x86

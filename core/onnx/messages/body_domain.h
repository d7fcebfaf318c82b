// SPDX-License-Identifier: Apache-2.0
// The domain by which a model has nodes of two opsets of ai.onnx.
#pragma once

#include <string>

namespace gantry {

/// Domain of the nodes of a function body that is written for a newer opset of ai.onnx than the
/// model's. Its operators are those of ai.onnx, under the opset that the model imports of this
/// domain; nodes of the graph have the domain ai.onnx and the version of their schema.
constexpr char kBodyDomain[] = "gantry.ai.onnx";
inline bool is_onnx_domain(const std::string& domain) {
  return domain.empty() || domain == kBodyDomain;
}

}  // namespace gantry

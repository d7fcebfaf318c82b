// SPDX-License-Identifier: Apache-2.0
// The function that a node calls: a model-local one, or the function body of its operator's schema.
// A value.
#pragma once

#include <string>
#include <tuple>

namespace gantry {

/// A function of the model or of an operator schema, as one node calls it.
struct FunctionCall {
  std::string domain;
  std::string op_type;
  std::string overload;
  bool operator<(const FunctionCall& other) const {
    return std::tie(domain, op_type, overload) <
           std::tie(other.domain, other.op_type, other.overload);
  }
};

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// The types of a provider's own operators, as its manifest declares them.
#pragma once

#include <gantry/dtype.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gantry {

/// An extent of an output: a number, that of an input, or known in the run only.
struct DeclaredExtent {
  int64_t value = -1;  ///< -1: not fixed
  int input = -1;      ///< index of the node's input whose axis `axis` has the extent; -1: none
  int axis = 0;
};

/// The type of an output, a tensor.
struct DeclaredOutput {
  DType dtype = DType::kUndefined;  ///< kUndefined: that of input `like`
  int like = -1;                    ///< index of the input that it is like; -1: none
  /// nothing: that of input `like`, or of any rank
  std::optional<std::vector<DeclaredExtent>> shape = {};
};

struct DeclaredOperator {
  std::string domain;
  std::string op_type;
  /// In the node's order; further outputs are as the last one. Empty: of any type.
  std::vector<DeclaredOutput> outputs;
};

}  // namespace gantry

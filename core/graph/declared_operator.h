// SPDX-License-Identifier: Apache-2.0
// The types of a provider's own operators, as its manifest or the provider declares them.
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
  DType dtype = DType::kUndefined;  ///< kUndefined: that of input `like`, or any
  int like = -1;                    ///< index of the input that it is like; -1: none
  /// nothing: that of input `like`, or of any rank
  std::optional<std::vector<DeclaredExtent>> shape = {};
  bool is_of_any_rank = false;  ///< whatever the rank of input `like`
};

/// An operator, or of several with one name that for some element types.
struct DeclaredOperator {
  std::string domain;
  std::string op_type;
  /// Of the inputs in the node's order; further inputs are as the last one. kUndefined: any. Empty:
  /// whatever the inputs are.
  std::vector<DType> inputs = {};
  /// In the node's order; further outputs are as the last one. Empty: of any type.
  std::vector<DeclaredOutput> outputs;
};

/// Those of all providers.
struct DeclaredOperators {
  std::vector<DeclaredOperator> all;    ///< in search order
  bool do_follow_from_options = false;  ///< some are of no manifest, but follow from options
  /// Providers whose operators would follow from their options, of which there are none.
  std::vector<std::string> without_options = {};
};

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// Finds placement rules of the configuration that match no node, which are most likely mistakes.
// One thread at a time.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "session/config/config.h"

namespace gantry {

class RuleUse {
 public:
  /// Borrows the configuration.
  explicit RuleUse(const Config& config);

  /// Matches the rules against every node of a graph and its bodies. Called for the imported graph
  /// and again after the passes, as a rule may name nodes of either.
  void look_at(const Graph& graph);

  /// A warning for each rule that matched no node, with the rule's position and the nearest
  /// operator or name. Loud if ONNX does not have the rule's operator; another one may be in the
  /// next model.
  [[nodiscard]] std::vector<ConfigWarning> warnings() const;

 private:
  struct Rule {
    bool was_met = false;
    bool has_operator = false;  // some node has its op_type
    bool has_name = false;      // some node has a name that matches its pattern
  };
  [[nodiscard]] std::string warning_of(size_t index) const;

  const Config& config_;
  std::vector<Rule> rules_;
  std::set<std::string> operators_;
  std::set<std::string> names_;
};

}  // namespace gantry

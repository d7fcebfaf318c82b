// SPDX-License-Identifier: Apache-2.0
// Which placement rules of the configuration have met a node. A rule that meets none is most likely
// a slip of its author. One thread at a time.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "session/config.h"

namespace gantry {

class RuleUse {
 public:
  /// Borrows the configuration.
  explicit RuleUse(const Config& config);

  /// Looks at every node of a graph and its bodies. Called for the graph as it was imported and
  /// again for what became of it: a rule may speak of either.
  void look_at(const Graph& graph);

  /// A sentence for each rule that met no node: its place, and the nearest operator or name. Loud
  /// if ONNX does not know its operator: one that it knows may well be in the next model.
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

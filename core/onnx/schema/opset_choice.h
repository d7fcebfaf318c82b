// SPDX-License-Identifier: Apache-2.0
// Chooses the opsets that a model imports so that each node has its intended schema. A value type;
// one thread at a time.
#pragma once

#include <map>
#include <string>
#include <tuple>

namespace gantry {

class OpsetChoice {
 public:
  /// Adds a node of the model. `since_version`: of its schema; `label`: its name in errors.
  /// UNSUPPORTED: no opset of the domain has this schema and those of the nodes added before; the
  /// message names both nodes.
  void add(const std::string& domain, const std::string& op_type, int since_version,
           const std::string& label);

  /// Adds a node that means the same under every opset of the domain.
  void need(const std::string& domain);

  /// Domain -> version.
  [[nodiscard]] std::map<std::string, int> versions() const;

 private:
  struct Range {
    int first = 0;
    int last = 0;
    std::string first_label;  // of the node that set the bound
    std::string last_label;
  };
  std::map<std::string, Range> ranges_;  // by domain
  std::map<std::tuple<std::string, std::string, int>, int> last_;
};

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// Which nodes a placement rule takes beside those it describes: the parts of functions that it
// sends to its device, once their bodies stand in place of the calls ("call/node").
#pragma once

#include <string>
#include <unordered_set>

namespace gantry {

class RuleParts {
 public:
  /// `call`: name of a node that is about to be replaced by its body.
  void add(const std::string& call) { calls_.insert(call); }
  /// Whether a node of that name came from such a call.
  [[nodiscard]] bool hold(const std::string& node) const {
    if (calls_.empty()) return false;
    for (size_t end = node.find('/'); end != std::string::npos; end = node.find('/', end + 1)) {
      if (calls_.contains(node.substr(0, end))) return true;
    }
    return false;
  }

 private:
  std::unordered_set<std::string> calls_;
};

}  // namespace gantry

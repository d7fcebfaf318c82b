// SPDX-License-Identifier: Apache-2.0
// The nodes that a placement rule gains by inlining: if a rule matches a call of a function, it
// also matches the nodes of the inlined body ("call/node").
#pragma once

#include <string>
#include <unordered_set>

namespace gantry {

class RuleParts {
 public:
  /// Adds a call that is about to be inlined; `call`: name of its node.
  void add(const std::string& call) { calls_.insert(call); }
  /// Whether the node of that name is from an inlined body of an added call.
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

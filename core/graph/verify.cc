// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace gantry {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, Code code) : graph_(graph), code_(code) {}

  void run() {
    check_values();
    check_lists();
    for (const auto& node : graph_.nodes()) check_node(*node);
    check_ends();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(code_, "graph \"" + graph_.name + "\": " + what);
  }

  void check_values() {
    std::unordered_set<std::string_view> names;
    for (const auto& value : graph_.values()) {
      owned_.insert(value.get());
      if (!names.insert(value->name).second) fail("two values are named \"" + value->name + "\"");
      if (value->type.symbols.size() != value->type.shape.size()) {
        fail(value_label(*value) + " must have one symbol per extent; it has " +
             std::to_string(value->type.symbols.size()) + " symbols for " +
             std::to_string(value->type.shape.size()) + " extents");
      }
      if (value->initial && (value->constant || value->producer)) {
        fail(value_label(*value) + " has an initial value, which only an input may have");
      }
      if (!value->constant) continue;
      if (value->producer) fail(value_label(*value) + " is a constant and has a producer");
      if (value->type.dtype != value->constant->dtype) {
        fail(value_label(*value) + " is declared " + std::string(to_string(value->type.dtype)) +
             " but its constant is " + describe(*value->constant));
      }
      defined_.insert(value.get());
    }
  }

  void check_lists() {
    for (const GraphValue* value : graph_.inputs) define_from_outside(value, "an input");
    for (const GraphValue* value : graph_.captures) {
      if (value) define_from_outside(value, "a capture");
    }
  }

  void define_from_outside(const GraphValue* value, const char* what) {
    if (!value || !owned_.contains(value)) fail(std::string(what) + " is no value of this graph");
    if (value->producer) fail(value_label(*value) + " is " + what + " and has a producer");
    if (!defined_.insert(value).second) fail(value_label(*value) + " is defined twice");
  }

  void check_node(const Node& node) {
    if (node.graph != &graph_) fail(node.label() + " names another graph as its own");
    if (node.name.empty()) fail("a " + node.op_type + " node has no name");
    if (!node_names_.insert(node.name).second) fail("two nodes are named \"" + node.name + "\"");
    for (const GraphValue* value : node.inputs) {
      if (value) check_use(node, *value);
    }
    for (const GraphValue* value : node.captures) {
      if (!value) fail(node.label() + " has an absent capture");
      check_use(node, *value);
    }
    check_bodies(node);
    for (const GraphValue* value : node.outputs) {
      if (!value) continue;
      if (!owned_.contains(value))
        fail(node.label() + " has an output that is no value of this graph");
      if (value->producer != &node)
        fail(value_label(*value) + " does not name its producer " + node.label());
      if (!defined_.insert(value).second) fail(value_label(*value) + " is defined twice");
    }
  }

  void check_use(const Node& node, const GraphValue& value) {
    if (!owned_.contains(&value)) fail(node.label() + " reads a value that is not of this graph");
    if (!defined_.contains(&value)) {
      fail(node.label() + " reads " + value_label(value) + " before it is defined");
    }
    used_.emplace_back(&value, &node);
  }

  void check_bodies(const Node& node) {
    const std::vector<Graph*> bodies = node.bodies();
    if (bodies.empty() && !node.captures.empty()) fail(node.label() + " has captures but no body");
    for (const Graph* body : bodies) {
      if (!body) fail(node.label() + " has an absent body");
      if (body->captures.size() != node.captures.size()) {
        fail(node.label() + " has " + std::to_string(node.captures.size()) +
             " captures, its body \"" + body->name + "\" " + std::to_string(body->captures.size()));
      }
      Verifier(*body, code_).run();
    }
    std::unordered_set<std::string_view> names;
    for (const Attribute& attribute : node.attributes) {
      if (!names.insert(attribute.name).second) {
        fail(node.label() + " has two attributes \"" + attribute.name + "\"");
      }
    }
  }

  void check_ends() {
    for (const GraphValue* value : graph_.outputs()) {
      if (!value || !owned_.contains(value)) fail("an output is no value of this graph");
      if (!defined_.contains(value)) fail("output " + value_label(*value) + " is never defined");
    }
    for (const auto& value : graph_.values()) {
      if (value->producer && !defined_.contains(value.get())) {
        fail(value_label(*value) + " names a producer that does not list it");
      }
      for (const Node* user : value->users) listed_.emplace_back(value.get(), user);
    }
    std::sort(used_.begin(), used_.end());
    std::sort(listed_.begin(), listed_.end());
    const auto [used, listed] =
        std::mismatch(used_.begin(), used_.end(), listed_.begin(), listed_.end());
    if (used == used_.end() && listed == listed_.end()) return;
    const bool is_missing = listed == listed_.end() || (used != used_.end() && *used < *listed);
    fail(value_label(is_missing ? *used->first : *listed->first) +
         " lists other users than it has");
  }

  static std::string value_label(const GraphValue& value) { return "value \"" + value.name + "\""; }

  const Graph& graph_;
  const Code code_;
  std::unordered_set<const GraphValue*> owned_;
  std::unordered_set<const GraphValue*> defined_;
  std::unordered_set<std::string_view> node_names_;
  using Use = std::pair<const GraphValue*, const Node*>;
  std::vector<Use> used_;    // uses by the nodes' inputs and captures
  std::vector<Use> listed_;  // uses by the values' users
};

}  // namespace

void verify(const Graph& graph, bool from_model) {
  Verifier(graph, from_model ? Code::kInvalidModel : Code::kInternal).run();
}

}  // namespace gantry

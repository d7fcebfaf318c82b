// SPDX-License-Identifier: Apache-2.0
#include "onnx/gradient/gradient.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "onnx/gradient/backward.h"
#include "onnx/gradient/rules.h"

namespace gantry {
namespace {

/// The nodes between the variables and the target, in order, and the other values that they read.
struct Part {
  std::vector<int> nodes;
  std::set<std::string> read;
};
Part find_part(const onnx::GraphProto& graph, const std::string& y,
               const std::set<std::string>& variables) {
  Part part;
  std::set<std::string> wanted = {y};
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto& node = graph.node(i);
    const bool is_wanted =
        std::any_of(node.output().begin(), node.output().end(), [&](const std::string& name) {
          return wanted.contains(name) && !variables.contains(name);
        });
    if (!is_wanted) continue;
    part.nodes.push_back(i);
    for (const std::string& output : node.output()) wanted.erase(output);
    for (const std::string& input : node.input()) {
      if (!input.empty()) wanted.insert(input);
    }
  }
  std::reverse(part.nodes.begin(), part.nodes.end());
  for (const std::string& name : wanted) {
    if (!variables.contains(name)) part.read.insert(name);
  }
  return part;
}

Rule rule_of(const onnx::NodeProto& node) {
  return node.domain().empty() ? find_rule(node.op_type()) : nullptr;
}

}  // namespace

std::vector<int> nodes_without_rule(const onnx::GraphProto& graph, const onnx::NodeProto& node) {
  const onnx::AttributeProto* target = find_attribute(node, "y");
  if (!target) return {};
  const ValueTypes no_types;
  Backward to(graph, node, no_types, 0);
  std::set<std::string> variables;
  for (const char* name : {"xs", "zs"}) {
    const onnx::AttributeProto* list = find_attribute(node, name);
    for (int i = 0; list && i < list->strings_size(); ++i) {
      variables.insert(list->strings(i));
      if (name[0] == 'x') to.depend(list->strings(i));
    }
  }
  std::vector<int> nodes;
  for (const int place : find_part(graph, target->s(), variables).nodes) {
    const onnx::NodeProto& own = graph.node(place);
    const bool depends = std::any_of(own.input().begin(), own.input().end(),
                                     [&](const std::string& input) { return to.wants(input); });
    to.follow(own);
    if (!rule_of(own) && (depends || !own.domain().empty())) nodes.push_back(place);
  }
  return nodes;
}

onnx::FunctionProto gradient_body(const onnx::GraphProto& graph, onnx::NodeProto& node,
                                  const ValueTypes& types, int opset) {
  Backward to(graph, node, types, opset);
  const onnx::AttributeProto* xs = find_attribute(node, "xs");
  const onnx::AttributeProto* zs = find_attribute(node, "zs");
  const onnx::AttributeProto* target = find_attribute(node, "y");
  if (!xs || !target || node.input_size() != xs->strings_size() + (zs ? zs->strings_size() : 0)) {
    to.fail(Code::kInvalidModel,
            "it needs the attributes xs and y, and an input for each name in "
            "xs and zs");
  }
  std::set<std::string> variables;
  for (const onnx::AttributeProto* list : {xs, zs}) {
    for (int i = 0; list && i < list->strings_size(); ++i) {
      if (!variables.insert(list->strings(i)).second) {
        to.fail(Code::kInvalidModel, "\"" + list->strings(i) + "\" is named twice");
      }
      to.body.add_input(list->strings(i));
    }
  }
  for (const std::string& x : xs->strings()) to.depend(x);
  const Part part = find_part(graph, target->s(), variables);
  for (const std::string& name : part.read) {
    to.body.add_input(name);
    node.add_input(name);
  }
  for (const int place : part.nodes) {
    *to.body.add_node() = graph.node(place);
    to.follow(graph.node(place));
  }
  if (!to.wants(target->s())) {
    to.fail(Code::kInvalidModel, "\"" + target->s() + "\" does not depend on any of xs");
  }
  to.give(target->s(), to.ones_like(target->s()));
  for (auto place = part.nodes.rbegin(); place != part.nodes.rend(); ++place) {
    const onnx::NodeProto& own = graph.node(*place);
    const bool is_wanted = std::any_of(own.output().begin(), own.output().end(),
                                       [&](const std::string& output) { return to.has(output); });
    if (!is_wanted) continue;
    const Rule rule = rule_of(own);
    if (!rule) to.fail(Code::kUnsupported, "the derivative of " + own.op_type() + " has no rule");
    rule(to, own, to.derivative(own.output(0)));
  }
  for (int i = 0; i < xs->strings_size(); ++i) {
    to.body.add_output(to.add("Identity", {to.derivative(xs->strings(i))}));
  }
  node.clear_attribute();
  return to.body;
}

}  // namespace gantry

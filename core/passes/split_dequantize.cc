// SPDX-License-Identifier: Apache-2.0
// Gives each reader of a dequantized value a DequantizeLinear of its own, so that a provider can
// fuse it with the reader. Those that no provider fuses are merged again (common_subexpressions).
// Runs only if PassContext::is_kept holds for such nodes.
//
//   %a = DequantizeLinear-23(%q, %s)        %a = DequantizeLinear-23(%q, %s)
//   %b = Conv-22(%a, %w)               =>   %b = Conv-22(%a, %w)
//   %c = Conv-22(%a, %v)                    %a_1 = DequantizeLinear-23(%q, %s)
//                                           %c = Conv-22(%a_1, %v)
#include <algorithm>
#include <vector>

#include "passes/pipeline.h"
#include "passes/quantization.h"

namespace gantry {
namespace {

// A copy of the node with an output of its own. DequantizeLinear has integer attributes only.
GraphValue* copy_of(Graph& graph, const Node& node) {
  Node* copy = graph.add_node(node.op_type, node.domain, node.since_version, node.name);
  for (const Attribute& attribute : node.attributes) {
    if (const auto* number = std::get_if<int64_t>(&attribute.value))
      copy->attributes.push_back({attribute.name, *number});
  }
  for (GraphValue* input : node.inputs) graph.add_input(copy, input);
  GraphValue* output = graph.add_value(node.outputs[0]->name, node.outputs[0]->type);
  graph.add_output(copy, output);
  return output;
}

bool has_only_numbers(const Node& node) {
  return std::all_of(node.attributes.begin(), node.attributes.end(),
                     [](const Attribute& x) { return std::holds_alternative<int64_t>(x.value); });
}

}  // namespace

bool split_dequantize(Graph& graph, const PassContext& context) {
  if (!context.is_kept) return false;
  std::vector<Node*> shared;
  for (const auto& node : graph.nodes()) {
    if (!is_dequantize(*node) || !context.is_kept(*node) || !has_only_numbers(*node)) continue;
    const GraphValue* output = node->outputs[0];
    if (output->users.size() + (output->is_output() ? 1 : 0) > 1) shared.push_back(node.get());
  }
  bool changed = false;
  for (Node* node : shared) {
    GraphValue* output = node->outputs[0];
    const std::vector<Node*> users = output->users;
    // A body reads the value through a capture, which keeps the original.
    for (size_t i = output->is_output() ? 0 : 1; i < users.size(); ++i) {
      const auto use = std::find(users[i]->inputs.begin(), users[i]->inputs.end(), output);
      if (use == users[i]->inputs.end()) continue;
      graph.set_input(users[i], static_cast<size_t>(use - users[i]->inputs.begin()),
                      copy_of(graph, *node));
      changed = true;
    }
  }
  if (changed) graph.sort();
  return changed;
}

}  // namespace gantry

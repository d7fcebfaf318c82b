// SPDX-License-Identifier: Apache-2.0
// Removes Dropout that has no effect: in inference mode, with a mask that no node reads.
//
//   %a, _ = Dropout-13(%x, %ratio)   =>   %y = Abs-13(%x)
//   %y = Abs-13(%a)
#include "passes/pipeline.h"
#include "passes/replace.h"

namespace gantry {
namespace {

bool is_inference(const Node& node) {
  if (node.since_version < 7) return node.get<int64_t>("is_test", 0) != 0;
  if (node.inputs.size() < 3 || !node.inputs[2]) return true;
  const ValueRef& training = node.inputs[2]->constant;
  return training && training->dtype == DType::kBool && training->view.size_bytes == 1 &&
         *static_cast<const uint8_t*>(training->view.data) == 0;
}

bool mask_is_unused(const Node& node) {
  if (node.outputs.size() < 2 || !node.outputs[1]) return true;
  return node.outputs[1]->users.empty() && !node.outputs[1]->is_output();
}

}  // namespace

bool remove_dropout(Graph& graph, const PassContext&) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    if (node->op_type != "Dropout" || !node->domain.empty()) continue;
    if (node->inputs.empty() || !node->inputs[0] || node->outputs.empty() || !node->outputs[0])
      continue;
    if (!is_inference(*node) || !mask_is_unused(*node)) continue;
    if (!try_replace(graph, node->outputs[0], node->inputs[0])) continue;
    graph.remove_node(node.get());
    changed = true;
  }
  if (changed) graph.sweep();
  return changed;
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// Removes Identity.
//
//   %a = Relu-14(%x)
//   %b = Identity-16(%a)      =>   %a = Relu-14(%x)
//   %y = Abs-13(%b)                %y = Abs-13(%a)
#include "passes/pipeline.h"
#include "passes/replace.h"

namespace gantry {

bool remove_identity(Graph& graph, const PassContext&) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    if (node->op_type != "Identity" || !node->domain.empty()) continue;
    if (node->inputs.size() != 1 || node->outputs.size() != 1 || !node->inputs[0] ||
        !node->outputs[0])
      continue;
    if (!try_replace(graph, node->outputs[0], node->inputs[0])) continue;
    graph.remove_node(node.get());
    changed = true;
  }
  if (changed) graph.sweep();
  return changed;
}

}  // namespace gantry

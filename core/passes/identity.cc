// SPDX-License-Identifier: Apache-2.0
#include "passes/identity.h"

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

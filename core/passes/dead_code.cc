// SPDX-License-Identifier: Apache-2.0
// Removes nodes of which no output is read.
//
//   %a = Relu-14(%x)      =>   %y = Abs-13(%x)
//   %y = Abs-13(%x)
#include <algorithm>

#include "passes/pipeline.h"

namespace gantry {

bool remove_dead_code(Graph& graph, const PassContext&) {
  bool changed = false;
  // Backwards, so that a node comes after its readers.
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const auto is_read = [&](const GraphValue* value) { return value && value->is_read(); };
    if (std::any_of((*node)->outputs.begin(), (*node)->outputs.end(), is_read)) continue;
    graph.remove_node(node->get());
    changed = true;
  }
  if (changed) graph.sweep();
  return changed;
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
#include "worker/cut.h"

#include <string>
#include <unordered_set>
#include <utility>

namespace gantry {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

GraphValue* value_of(const Graph& graph, uint32_t id) {
  if (id == kNone) return nullptr;
  if (id >= graph.values().size())
    throw Error(Code::kInternal, "compile: value " + std::to_string(id) + " is not in the graph");
  return graph.values()[id].get();
}

}  // namespace

WorkerKernel cut_to(Graph& graph, const std::vector<uint32_t>& nodes,
                    const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs) {
  WorkerKernel slots;
  std::vector<GraphValue*> read;
  std::vector<GraphValue*> made;
  std::unordered_set<const GraphValue*> seen;
  for (uint32_t slot = 0; slot < inputs.size(); ++slot) {
    GraphValue* value = value_of(graph, inputs[slot]);
    if (!value || value->constant || !seen.insert(value).second) continue;
    read.push_back(value);
    slots.inputs.push_back(slot);
  }
  seen.clear();
  for (uint32_t slot = 0; slot < outputs.size(); ++slot) {
    GraphValue* value = value_of(graph, outputs[slot]);
    // An output that nobody reads is not wanted in any run.
    const bool is_read = value && value->is_read();
    if (!is_read || !seen.insert(value).second) continue;
    made.push_back(value);
    slots.outputs.push_back(slot);
  }
  const std::unordered_set<uint32_t> kept(nodes.begin(), nodes.end());
  for (const auto& node : graph.nodes()) {
    if (!kept.contains(node->id)) graph.remove_node(node.get());
  }
  graph.inputs = std::move(read);
  graph.set_outputs(std::move(made));
  graph.captures.clear();
  graph.sweep();
  return slots;
}

}  // namespace gantry

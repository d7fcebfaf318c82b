// SPDX-License-Identifier: Apache-2.0
#include "plugin_ep/capability.h"

#include <gantry/session.h>

#include <map>
#include <optional>
#include <set>
#include <span>

#include "plugin_ep/host_types.h"
#include "plugin_ep/parts.h"

namespace gantry::ort {
namespace {

/// A node of the graph, and its name in the model that gantry is asked about.
struct Candidate {
  const host::Node* node;
  NodeValues values;
  std::string name;    ///< empty: it is not in that model
  std::string reason;  ///< why it is not taken; empty: it is
};

std::vector<Candidate> candidates_of(const HostApi& api, const host::Graph* graph,
                                     GraphModel& model) {
  std::vector<Candidate> all;
  for (const host::Node* node : nodes_of(api, graph)) {
    Candidate& candidate = all.emplace_back(Candidate{node, values_of(api, node), {}, {}});
    const std::string owner = api.text(Slot::kNodeGetEpName, node);
    if (!owner.empty() && owner != kEpName) {
      candidate.reason = owner + " has it";
      continue;
    }
    try {
      candidate.name = model.add(node);
    } catch (const ApiError& error) {
      candidate.reason = error.what();
    }
  }
  return all;
}

std::set<std::string> outputs_of_graph(const HostApi& api, const host::Graph* graph) {
  const std::vector<std::string> names = names_of(
      api, api.list<host::NamedValue>(Slot::kGraphGetNumOutputs, Slot::kGraphGetOutputs, graph));
  return {names.begin(), names.end()};
}

/// What the model must make, so that none of its nodes is left out: the graph's outputs, what nodes
/// outside of the model read, and what nobody reads.
std::vector<std::string> outputs_of_model(const std::vector<Candidate>& candidates,
                                          const std::set<std::string>& graph_outputs) {
  std::set<std::string> inside;
  std::set<std::string> outside;
  for (const Candidate& candidate : candidates) {
    std::set<std::string>& readers = candidate.name.empty() ? outside : inside;
    readers.insert(candidate.values.inputs.begin(), candidate.values.inputs.end());
    readers.insert(candidate.values.captured.begin(), candidate.values.captured.end());
  }
  std::vector<std::string> outputs;
  for (const Candidate& candidate : candidates) {
    if (candidate.name.empty()) continue;
    for (const std::string& name : candidate.values.outputs) {
      if (name.empty()) continue;
      if (graph_outputs.count(name) > 0 || outside.count(name) > 0 || inside.count(name) == 0)
        outputs.push_back(name);
    }
  }
  return outputs;
}

/// The node of the model that a row of a placement belongs to: itself, the node whose body it is
/// in, or the call of a function, whose nodes have names behind the call's. Null: none is known.
Candidate* owner_of(const std::vector<NodePlacement>& rows, const NodePlacement* row,
                    const std::map<std::string, Candidate*>& by_name) {
  while (row->parent >= 0) row = &rows[static_cast<size_t>(row->parent)];
  std::string name = row->node;
  for (;;) {
    const auto found = by_name.find(name);
    if (found != by_name.end()) return found->second;
    const size_t last = name.rfind('/');
    if (last == std::string::npos) return nullptr;
    name.resize(last);
  }
}

void ask(const GraphModel& model, Runtime& runtime, const EpOptions& options,
         std::vector<Candidate>& candidates) {
  std::map<std::string, Candidate*> by_name;
  for (Candidate& candidate : candidates) {
    if (!candidate.name.empty()) by_name[candidate.name] = &candidate;
  }
  if (by_name.empty()) return;
  const std::string bytes = model.model().SerializeAsString();
  SessionOptions settings = session_options(options);
  settings.initializers = model.initializers();
  const Placement placement = check(runtime, {std::as_bytes(std::span(bytes)), {}}, settings);
  for (const NodePlacement& row : placement.nodes) {
    if (!row.device.empty()) continue;
    if (Candidate* owner = owner_of(placement.nodes, &row, by_name)) {
      owner->reason = row.reason;
      continue;
    }
    // A row that is nobody's: whose it was cannot be known, so nothing is taken.
    for (Candidate& candidate : candidates) candidate.reason = row.node + ": " + row.reason;
    return;
  }
}

/// Values that only gantry can pass on: fused nodes of ONNX Runtime give and take tensors.
std::set<std::string> containers_of(const HostApi& api, const host::Graph* graph) {
  std::set<std::string> names;
  const auto add = [&](const ValueInfos& infos) {
    for (const host::NamedValue* info : infos) {
      if (!info) continue;
      const auto kind = type_of(api, info).value_case();
      if (kind != onnx::TypeProto::kTensorType && kind != onnx::TypeProto::VALUE_NOT_SET)
        names.insert(name_of(api, info));
    }
  };
  add(api.list<host::NamedValue>(Slot::kGraphGetNumInputs, Slot::kGraphGetInputs, graph));
  for (const host::Node* node : nodes_of(api, graph)) add(outputs_of(api, node));
  return names;
}

}  // namespace

Capability capability_of(const HostApi& api, const host::Graph* graph, Runtime& runtime,
                         const EpOptions& options) {
  if (api.value<const host::Node*>(Slot::kGraphGetParentNode, graph)) return {};
  GraphModel model(api, graph);
  std::vector<Candidate> candidates = candidates_of(api, graph, model);
  const std::set<std::string> graph_outputs = outputs_of_graph(api, graph);
  model.finish(outputs_of_model(candidates, graph_outputs));
  ask(model, runtime, options, candidates);

  std::vector<NodeValues> values;
  std::vector<bool> is_taken;
  for (const Candidate& candidate : candidates) {
    values.push_back(candidate.values);
    is_taken.push_back(candidate.reason.empty());
  }
  const auto parts = divide(values, is_taken, containers_of(api, graph), graph_outputs);
  Capability capability;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    if (parts[i]) {
      if (capability.parts.size() <= *parts[i]) capability.parts.resize(*parts[i] + 1);
      capability.parts[*parts[i]].push_back(candidate.node);
      continue;
    }
    const std::string label = api.text(Slot::kNodeGetOperatorType, candidate.node) + " \"" +
                              api.text(Slot::kNodeGetName, candidate.node) + "\"";
    capability.refusals.push_back(
        {label, candidate.reason.empty()
                    ? "it passes on a sequence, map or optional to a node that is not taken"
                    : candidate.reason});
  }
  return capability;
}

}  // namespace gantry::ort

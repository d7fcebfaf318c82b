// SPDX-License-Identifier: Apache-2.0
#include "plugin_ep/capability.h"

#include <gantry/session.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "plugin_ep/host_types.h"
#include "plugin_ep/parts.h"

namespace gantry::ort {
namespace {

/// A node of the graph.
struct Candidate {
  const host::Node* node;
  NodeValues values;
  std::string reason;  ///< why it is not taken; empty: it is
};

using Ids = std::vector<size_t>;  // of candidates, ascending

std::vector<Candidate> candidates_of(const HostApi& api, const host::Graph* graph) {
  std::vector<Candidate> all;
  for (const host::Node* node : nodes_of(api, graph)) {
    const std::string owner = api.text(Slot::kNodeGetEpName, node);
    const bool is_free = owner.empty() || owner == kEpName;
    all.push_back({node, values_of(api, node), is_free ? "" : owner + " has it"});
  }
  return all;
}

std::set<std::string> set_of(const HostApi& api, const ValueInfos& values) {
  const std::vector<std::string> names = names_of(api, values);
  return {names.begin(), names.end()};
}

ValueInfos inputs_of_graph(const HostApi& api, const host::Graph* graph) {
  return api.list<host::NamedValue>(Slot::kGraphGetNumInputs, Slot::kGraphGetInputs, graph);
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
  add(inputs_of_graph(api, graph));
  for (const host::Node* node : nodes_of(api, graph)) add(outputs_of(api, node));
  return names;
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

class Question {
 public:
  Question(const HostApi& api, const host::Graph* graph, Runtime& runtime, const EpOptions& options)
      : api_(api),
        graph_(graph),
        runtime_(runtime),
        options_(options),
        candidates_(candidates_of(api, graph)),
        inputs_(set_of(api, inputs_of_graph(api, graph))),
        outputs_(set_of(api, api.list<host::NamedValue>(Slot::kGraphGetNumOutputs,
                                                        Slot::kGraphGetOutputs, graph))) {}

  Capability answer() {
    const std::set<std::string> containers = containers_of(api_, graph_);
    std::vector<NodeValues> values;
    for (const Candidate& candidate : candidates_) values.push_back(candidate.values);
    Ids all;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i].reason.empty()) all.push_back(i);
    }
    ask(all);
    // A part is asked about by itself: another graph is planned otherwise, and where a value leaves
    // it, the node that makes it has to be there. What is refused then divides the graph anew.
    for (;;) {
      std::vector<bool> is_taken;
      for (const Candidate& candidate : candidates_) is_taken.push_back(candidate.reason.empty());
      const std::vector<Ids> parts = lists_of(divide(values, is_taken, containers, outputs_));
      bool is_settled = true;
      for (const Ids& part : parts) is_settled = ask(part) && is_settled;
      if (is_settled) return capability_of_parts(parts);
    }
  }

 private:
  static std::vector<Ids> lists_of(const std::vector<std::optional<size_t>>& parts) {
    std::vector<Ids> lists;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i]) continue;
      if (lists.size() <= *parts[i]) lists.resize(*parts[i] + 1);
      lists[*parts[i]].push_back(i);
    }
    return lists;
  }

  /// Asks where these nodes would run, as a model of their own, and notes what is refused. False:
  /// something is.
  bool ask(const Ids& ids) {
    if (ids.empty() || accepted_.count(ids) > 0) return true;
    GraphModel model(api_, graph_, inputs_);
    std::map<std::string, Candidate*> by_name;
    std::set<size_t> inside;
    for (const size_t id : ids) {
      try {
        by_name[model.add(candidates_[id].node)] = &candidates_[id];
        inside.insert(id);
      } catch (const ApiError& error) {
        candidates_[id].reason = error.what();
      }
    }
    model.finish(outputs_of_model(inside));
    if (!by_name.empty()) note_refusals(model, by_name);
    const bool is_accepted = std::all_of(ids.begin(), ids.end(),
                                         [&](size_t id) { return candidates_[id].reason.empty(); });
    if (is_accepted) accepted_.insert(ids);
    return is_accepted;
  }

  /// What a model of these nodes must make, so that none of them is left out: the graph's outputs,
  /// what other nodes read, and what nobody reads.
  [[nodiscard]] std::vector<std::string> outputs_of_model(const std::set<size_t>& inside) const {
    std::set<std::string> inner;
    std::set<std::string> outer = outputs_;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      const NodeValues& values = candidates_[i].values;
      std::set<std::string>& read = inside.count(i) > 0 ? inner : outer;
      read.insert(values.inputs.begin(), values.inputs.end());
      read.insert(values.captured.begin(), values.captured.end());
    }
    std::vector<std::string> outputs;
    for (const size_t id : inside) {
      for (const std::string& name : candidates_[id].values.outputs) {
        if (!name.empty() && (outer.count(name) > 0 || inner.count(name) == 0))
          outputs.push_back(name);
      }
    }
    return outputs;
  }

  void note_refusals(const GraphModel& model, const std::map<std::string, Candidate*>& by_name) {
    const std::string bytes = model.model().SerializeAsString();
    SessionOptions settings = session_options(options_);
    settings.initializers = model.initializers();
    const Placement placement = check(runtime_, {std::as_bytes(std::span(bytes)), {}}, settings);
    for (const NodePlacement& row : placement.nodes) {
      if (!row.device.empty()) continue;
      if (Candidate* owner = owner_of(placement.nodes, &row, by_name)) {
        owner->reason = row.reason;
        continue;
      }
      // A row that is nobody's: whose it was cannot be known, so none is taken.
      for (const auto& [name, candidate] : by_name)
        candidate->reason = row.node + ": " + row.reason;
      return;
    }
  }

  Capability capability_of_parts(const std::vector<Ids>& parts) const {
    Capability capability;
    std::set<size_t> taken;
    for (const Ids& part : parts) {
      std::vector<const host::Node*>& nodes = capability.parts.emplace_back();
      for (const size_t id : part) nodes.push_back(candidates_[id].node);
      taken.insert(part.begin(), part.end());
    }
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if (taken.count(i) > 0) continue;
      const Candidate& candidate = candidates_[i];
      const std::string label = api_.text(Slot::kNodeGetOperatorType, candidate.node) + " \"" +
                                api_.text(Slot::kNodeGetName, candidate.node) + "\"";
      capability.refusals.push_back(
          {label, candidate.reason.empty()
                      ? "it passes on a sequence, map or optional to a node that is not taken"
                      : candidate.reason});
    }
    capability.graph_inputs = inputs_;
    return capability;
  }

  const HostApi& api_;
  const host::Graph* graph_;
  Runtime& runtime_;
  const EpOptions& options_;
  std::vector<Candidate> candidates_;
  std::set<std::string> inputs_;   // of the graph
  std::set<std::string> outputs_;  // likewise
  std::set<Ids> accepted_;         // lists of which every node runs
};

}  // namespace

Capability capability_of(const HostApi& api, const host::Graph* graph, Runtime& runtime,
                         const EpOptions& options) {
  if (api.value<const host::Node*>(Slot::kGraphGetParentNode, graph)) return {};
  return Question(api, graph, runtime, options).answer();
}

}  // namespace gantry::ort

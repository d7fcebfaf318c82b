// SPDX-License-Identifier: Apache-2.0
// Converts a placement to the public struct Placement.
#include <algorithm>
#include <unordered_set>

#include "placement/placement.h"
#include "placement/transfers.h"

namespace gantry {
namespace {

// Size of a value; 0: an extent or the type is not known, or it is a string or no tensor.
uint64_t known_bytes(const GraphValue& value) {
  if (value.constant) return value.constant->view.size_bytes;
  const std::vector<int64_t>& shape = value.type.shape;
  const bool is_known = value.type.has_rank &&
                        std::none_of(shape.begin(), shape.end(), [](int64_t e) { return e < 0; });
  return is_known ? estimated_bytes(value) : 0;
}

class Describer {
 public:
  explicit Describer(const Implementations& implementations) : implementations_(implementations) {}

  Placement run(const GraphPlacement& placement) {
    result_.compatible = placement.complete();
    add_graph(placement, {"", -1, ""});
    result_.copies = result_.transfers.size();
    return std::move(result_);
  }

 private:
  /// Which graph is being described.
  struct Place {
    std::string prefix;  // in front of names
    int64_t parent;
    std::string body;
  };

  void add_graph(const GraphPlacement& placement, const Place& place) {
    add_values(*placement.graph, place);
    result_.kernels += placement.claims.size();
    for (const Transfer& transfer : transfers_of(placement, place.parent >= 0)) {
      result_.transfers.push_back({place.prefix + transfer.value->name, transfer.from.to_string(),
                                   transfer.to.to_string(), known_bytes(*transfer.value)});
    }
    for (const auto& node : placement.graph->nodes()) {
      const auto row = static_cast<int64_t>(result_.nodes.size());
      result_.nodes.push_back(row_of(placement, *node, place));
      if (placement.owner[node->id] != GraphPlacement::kCore) continue;
      for (const Attribute& attribute : node->attributes) {
        if (const auto* body = std::get_if<std::unique_ptr<Graph>>(&attribute.value)) {
          std::string prefix = place.prefix;
          prefix.append(node->name).append("/").append(attribute.name).append("/");
          add_graph(*placement.bodies.at(body->get()), {std::move(prefix), row, attribute.name});
        }
      }
    }
  }

  void add_values(const Graph& graph, const Place& place) {
    const std::unordered_set<const GraphValue*> inputs(graph.inputs.begin(), graph.inputs.end());
    for (const auto& value : graph.values()) {
      ValuePlacement row;
      row.is_output = value->is_output();
      row.is_input = !value->producer && !value->constant;
      if (!value->is_read() && !value->producer && !inputs.contains(value.get())) continue;
      const TypeInfo& type = value->type;
      row.info = {place.prefix + value->name,
                  type.kind,
                  type.dtype,
                  type.has_rank,
                  type.shape,
                  type.symbols,
                  true};
      row.size_bytes = known_bytes(*value);
      row.is_constant = value->constant != nullptr;
      row.parent = place.parent;
      row.body = place.body;
      result_.values.push_back(std::move(row));
    }
  }

  [[nodiscard]] NodePlacement row_of(const GraphPlacement& placement, const Node& node,
                                     const Place& place) const {
    NodePlacement row;
    row.node = place.prefix + node.name;
    row.op_type = node.op_type;
    row.domain = node.domain;
    row.reason = placement.reasons[node.id];
    row.parent = place.parent;
    row.body = place.body;
    const auto add_names = [&](const std::vector<GraphValue*>& values,
                               std::vector<std::string>& names) {
      for (const GraphValue* value : values)
        names.push_back(value ? place.prefix + value->name : std::string());
    };
    add_names(node.inputs, row.inputs);
    add_names(node.captures, row.inputs);
    add_names(node.outputs, row.outputs);
    const int owner = placement.owner[node.id];
    if (owner >= 0) {
      const Claim& claim = placement.claims[static_cast<size_t>(owner)];
      const Device& device = claim.candidate->device;
      row.device = device.to_string();
      row.provider = claim.candidate->provider->name();
      row.kernel = claim.kernel;
      const auto implementation = implementations_.find(&node);
      if (implementation != implementations_.end()) row.implementation = implementation->second;
      const Candidate* passed_over = placement.passed_over[node.id];
      if (passed_over && passed_over->device != device)
        row.instead_of = passed_over->device.to_string();
      row.memory = (claim.candidate->has_host_memory() ? Device{} : device).to_string();
      if (claim.nodes.front() == &node) row.time_ns = claim.time_ns;
    } else if (owner == GraphPlacement::kCore) {
      row.device = row.memory = Device{}.to_string();
      row.provider = "core";
      row.kernel = "control flow";
    }
    return row;
  }

  const Implementations& implementations_;
  Placement result_;
};

}  // namespace

Placement describe(const GraphPlacement& placement, const Implementations& implementations) {
  return Describer(implementations).run(placement);
}

}  // namespace gantry

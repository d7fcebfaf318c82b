// SPDX-License-Identifier: Apache-2.0
#include "placement/claim_rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>

#include "plugin/crash_marks.h"
#include "plugin/error.h"

namespace gantry {
namespace {

// Receives a provider's answers. Its callbacks must not throw through the provider.
struct Sink {
  const gantry_graph* graph;
  ClaimAnswers answers;
  std::string failure;  // the first error in a callback
};

template <class Action>
void receive(void* self, Action&& action) {
  auto& sink = *static_cast<Sink*>(self);
  if (!sink.failure.empty()) return;
  try {
    action(sink);
  } catch (const std::exception& error) {
    sink.failure = error.what();
  }
}

constexpr uint32_t kMostFormats = 16;  // of a port; further ones are ignored

std::vector<Port> copy_ports(const gantry_port* ports, uint32_t count, uint32_t stride) {
  std::vector<Port> copies(ports ? count : 0);
  for (uint32_t i = 0; i < copies.size(); ++i) {
    const auto* port = reinterpret_cast<const gantry_port*>(
        reinterpret_cast<const std::byte*>(ports) + size_t{i} * stride);
    copies[i].flags = port->flags;
    if (GANTRY_HAS(port, overwrites)) copies[i].overwrites = port->overwrites;
    if (GANTRY_HAS(port, repeats)) copies[i].repeats = port->repeats;
    if (!GANTRY_HAS(port, formats) || !port->formats) continue;
    const uint32_t formats = std::min(port->format_count, kMostFormats);
    for (uint32_t k = 0; k < formats; ++k) copies[i].formats.push_back(*port->formats[k]);
  }
  return copies;
}

// What is wrong with a claim by itself; checked before its nodes and ports are copied.
std::string fault_of(const gantry_claim& claim, uint32_t node_count) {
  if (!GANTRY_HAS(&claim, output_count)) {
    return "it has a size of " + std::to_string(claim.size) + " bytes, too few for its members";
  }
  if (claim.node_count == 0 || !claim.nodes) return "it names no node";
  if (claim.node_count > node_count) {
    return "it names " + std::to_string(claim.node_count) + " nodes of a graph that has " +
           std::to_string(node_count);
  }
  if ((claim.inputs || claim.outputs) &&
      claim.port_size < offsetof(gantry_port, flags) + sizeof(uint32_t)) {
    return "its port_size is " + std::to_string(claim.port_size);
  }
  if (GANTRY_HAS(&claim, time_ns) && !std::isfinite(claim.time_ns)) {
    return "its time_ns is not a finite number";
  }
  return {};
}

void take_row(Sink& sink, const gantry_claim& claim) {
  ClaimRow row;
  row.fault = fault_of(claim, sink.graph->node_count);
  if (row.fault.empty()) {
    row.nodes.assign(claim.nodes, claim.nodes + claim.node_count);
    std::sort(row.nodes.begin(), row.nodes.end());
    if (std::adjacent_find(row.nodes.begin(), row.nodes.end()) != row.nodes.end())
      row.fault = "it names a node twice";
    if (row.nodes.back() >= sink.graph->node_count) {
      row.fault =
          "it names node " + std::to_string(row.nodes.back()) + ", which the graph does not have";
    }
    row.inputs = copy_ports(claim.inputs, claim.input_count, claim.port_size);
    row.outputs = copy_ports(claim.outputs, claim.output_count, claim.port_size);
    row.divisible = (claim.flags & GANTRY_CLAIM_DIVISIBLE) != 0;
    if (GANTRY_HAS(&claim, time_ns)) row.time_ns = claim.time_ns;
    if (GANTRY_HAS(&claim, workspace_bytes)) row.workspace_bytes = claim.workspace_bytes;
    if (GANTRY_HAS(&claim, kernel)) row.kernel = std::string(to_view(claim.kernel));
    if (GANTRY_HAS(&claim, tag)) row.tag = claim.tag;
  }
  sink.answers.rows.push_back(std::move(row));
}

}  // namespace

ClaimAnswers ask_claims(const Candidate& candidate, const GraphView& view) {
  Sink sink{view.get(), {}, {}};
  sink.answers.refusals.resize(sink.graph->node_count);
  gantry_claim_sink table = {};
  table.size = sizeof(table);
  table.self = &sink;
  table.claim = [](void* self, const gantry_claim* claim) {
    receive(self, [&](Sink& to) { take_row(to, *claim); });
  };
  table.refuse = [](void* self, uint32_t node, gantry_str reason) {
    receive(self, [&](Sink& to) {
      if (node < to.answers.refusals.size())
        to.answers.refusals[node] = std::string(to_view(reason));
    });
  };
  gantry_claim_request request = {};
  request.size = sizeof(request);
  request.device = candidate.device_index;
  request.graph = sink.graph;
  request.options = {candidate.options.data(), candidate.options.size()};
  request.sink = &table;
  const gantry_provider_api& api = candidate.provider->api();
  const CallMark mark(candidate.provider->mark(), MarkedCall::kClaim);
  try {
    throw_if(api.claim(api.self, &request), "claim");
    if (!sink.failure.empty()) throw Error(Code::kInternal, "claim: " + sink.failure);
  } catch (const std::exception& error) {
    sink.answers.rows.clear();
    const std::string reason = error.what();
    std::fill(sink.answers.refusals.begin(), sink.answers.refusals.end(), reason);
  }
  return std::move(sink.answers);
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
#include "claims.h"

#include <algorithm>
#include <cmath>

namespace gantry::checks {
namespace {

struct Sink {
  const gantry_graph* graph;
  TestAnswer answer;
  std::string breach;  // the first one; exceptions must not pass through the provider
};

void note(Sink& sink, const std::string& what) {
  if (sink.breach.empty()) sink.breach = what;
}

std::vector<uint32_t> flags_of(const gantry_port* ports, uint32_t count, uint32_t stride) {
  std::vector<uint32_t> flags(ports ? count : 0);
  for (uint32_t i = 0; i < flags.size(); ++i) {
    flags[i] = reinterpret_cast<const gantry_port*>(reinterpret_cast<const char*>(ports) +
                                                    size_t{i} * stride)
                   ->flags;
  }
  return flags;
}

void take_row(void* self, const gantry_claim* row) {
  Sink& sink = *static_cast<Sink*>(self);
  const std::string label = "row " + std::to_string(sink.answer.rows.size());
  if (!GANTRY_HAS(row, tag))
    return note(sink, label + " has a size of " + std::to_string(row->size));
  if (!row->nodes || row->node_count == 0) return note(sink, label + " names no node");
  TestClaim claim;
  claim.nodes.assign(row->nodes, row->nodes + row->node_count);
  for (const uint32_t node : claim.nodes) {
    if (node >= sink.graph->node_count) {
      return note(sink, label + " names node " + std::to_string(node) + " of " +
                            std::to_string(sink.graph->node_count));
    }
  }
  if ((row->inputs || row->outputs) && row->port_size < sizeof(uint32_t) * 2)
    return note(sink, label + " has a port_size of " + std::to_string(row->port_size));
  claim.input_flags = flags_of(row->inputs, row->input_count, row->port_size);
  claim.output_flags = flags_of(row->outputs, row->output_count, row->port_size);
  claim.flags = row->flags;
  claim.time_ns = row->time_ns;
  claim.workspace_bytes = row->workspace_bytes;
  claim.kernel = to_string(row->kernel);
  claim.tag = row->tag;
  sink.answer.rows.push_back(std::move(claim));
}

void take_refusal(void* self, uint32_t node, gantry_str reason) {
  Sink& sink = *static_cast<Sink*>(self);
  if (node >= sink.answer.refusals.size()) {
    return note(sink, "it refuses node " + std::to_string(node) + " of " +
                          std::to_string(sink.graph->node_count));
  }
  sink.answer.refusals[node] = to_string(reason);
  if (reason.length == 0) note(sink, "it refuses a node without a reason");
}

}  // namespace

const TestClaim* TestAnswer::row_of(uint32_t node) const {
  for (const TestClaim& row : rows)
    if (row.nodes == std::vector<uint32_t>{node}) return &row;
  return nullptr;
}

TestAnswer ask(const OpenProvider& provider, const Subject& subject, uint32_t device,
               const gantry_graph* graph) {
  Sink sink = {graph, {}, {}};
  sink.answer.refusals.resize(graph->node_count);
  gantry_claim_sink table = {};
  table.size = sizeof(table);
  table.self = &sink;
  table.claim = take_row;
  table.refuse = take_refusal;
  gantry_claim_request request = {};
  request.size = sizeof(request);
  request.device = device;
  request.graph = graph;
  request.options = to_str(subject.options);
  request.sink = &table;
  sink.answer.error = take_error(provider.api().claim(provider.self(), &request));
  expect(sink.breach.empty(),
         "claim: expected rows and refusals of this graph's nodes, found that " + sink.breach,
         "name each node by its index in gantry_graph.nodes, and give every refusal a reason");
  return std::move(sink.answer);
}

void expect_sound(const TestAnswer& answer, const gantry_graph* graph) {
  std::vector<bool> is_claimed(graph->node_count, false);
  for (const TestClaim& row : answer.rows) {
    for (const uint32_t node : row.nodes) is_claimed[node] = true;
    const std::string label = "claim: the row of node " + std::to_string(row.nodes.front()) + ": ";
    expect(std::isfinite(row.time_ns), label + "expected a finite time_ns, found another number",
           "set time_ns to -1 if the time is not known");
    expect(!row.kernel.empty(), label + "expected the kernel's name, found none",
           "set gantry_claim.kernel: users see it in gantry explain");
    if (row.nodes.size() > 1) continue;
    const gantry_node& node = *graph->nodes[row.nodes[0]];
    const size_t slots = size_t{node.input_count} + node.capture_count;
    expect(row.input_flags.empty() || row.input_flags.size() == slots,
           label + "expected a port for each of " + std::to_string(slots) + " input slots, found " +
               std::to_string(row.input_flags.size()),
           "follow the rule of slots in section 3 of provider.h");
    expect(row.output_flags.empty() || row.output_flags.size() == node.output_count,
           label + "expected a port for each of " + std::to_string(node.output_count) +
               " output slots, found " + std::to_string(row.output_flags.size()),
           "follow the rule of slots in section 3 of provider.h");
  }
  for (uint32_t node = 0; node < graph->node_count; ++node) {
    expect(is_claimed[node] || !answer.refusals[node].empty(),
           "claim: expected a row or a reason for node " + std::to_string(node) + " (" +
               to_string(graph->nodes[node]->op_type) + "), found neither",
           "call gantry_claim_sink.refuse for each node that is in no row");
  }
}

}  // namespace gantry::checks

// SPDX-License-Identifier: Apache-2.0
#include "worker/fragment.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "schedule/program.h"
#include "schedule/thread_pool.h"

namespace gantry {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

std::string refusals_of(const GraphPlacement& placement) {
  std::string text;
  for (const auto& node : placement.graph->nodes()) {
    if (placement.owner[node->id] == GraphPlacement::kNobody)
      text += (text.empty() ? "" : "; ") + node->label() + " (" + placement.reasons[node->id] + ")";
  }
  return text.empty() ? "a node of a body" : text;
}

}  // namespace

WorkerFragment::WorkerFragment(std::unique_ptr<Graph> graph, const WorkerCompile& request,
                               const Candidate& candidate, uint64_t stop_grace_ms)
    : graph_(std::move(graph)) {
  cut(request);
  build(candidate, request.threads > 0 ? request.threads : hardware_threads(), stop_grace_ms);
}

GraphValue* WorkerFragment::value_of(uint32_t id) const {
  if (id == kNone) return nullptr;
  if (id >= graph_->values().size())
    throw Error(Code::kInternal, "compile: value " + std::to_string(id) + " is not in the graph");
  return graph_->values()[id].get();
}

// Takes everything else out, so that what crosses the border of the set is the graph's inputs and
// outputs.
void WorkerFragment::cut(const WorkerCompile& request) {
  std::vector<GraphValue*> inputs;
  std::vector<GraphValue*> outputs;
  std::unordered_set<const GraphValue*> seen;
  for (uint32_t slot = 0; slot < request.inputs.size(); ++slot) {
    GraphValue* value = value_of(request.inputs[slot]);
    if (!value || value->constant || !seen.insert(value).second) continue;
    inputs.push_back(value);
    slots_.inputs.push_back(slot);
  }
  seen.clear();
  for (uint32_t slot = 0; slot < request.outputs.size(); ++slot) {
    GraphValue* value = value_of(request.outputs[slot]);
    // One that nobody reads is not wanted by any run.
    const bool is_read = value && (!value->users.empty() || graph_->is_output(value));
    if (!is_read || !seen.insert(value).second) continue;
    outputs.push_back(value);
    slots_.outputs.push_back(slot);
  }
  const std::unordered_set<uint32_t> kept(request.nodes.begin(), request.nodes.end());
  for (const auto& node : graph_->nodes()) {
    if (!kept.contains(node->id)) graph_->remove_node(node.get());
  }
  graph_->inputs = std::move(inputs);
  graph_->outputs = std::move(outputs);
  graph_->captures.clear();
  graph_->sweep();
}

void WorkerFragment::build(const Candidate& candidate, uint32_t threads, uint64_t stop_grace_ms) {
  const std::vector<Candidate> candidates = {candidate};
  const std::vector<std::vector<DeviceProvider>> owners = {
      {DeviceProvider{candidate.provider, candidate.device_index}}};
  PlacementPolicy policy;
  BuildOptions options;
  options.threads = threads;
  std::string failed;
  for (;;) {
    const std::unique_ptr<GraphPlacement> placement = place(*graph_, candidates, policy);
    if (!placement->complete())
      throw Error(Code::kUnsupported, failed.empty() ? refusals_of(*placement) : failed);
    auto devices = std::make_shared<DeviceTable>();
    try {
      auto program = std::make_unique<const Program>(*placement, *devices, owners, options);
      executor_ =
          std::make_unique<Executor>(std::move(program), std::move(devices), threads, nullptr,
                                     Executor::Options{.stop_grace_ms = stop_grace_ms});
      return;
    } catch (const CompileFailure& failure) {
      // Each round rules out one set, so that this ends; another row may take its nodes.
      failed = failure.message();
      policy.failed.push_back(failure.claim);
      std::sort(policy.failed.back().nodes.begin(), policy.failed.back().nodes.end());
    }
  }
}

std::vector<ValueRef> WorkerFragment::run(const std::vector<ValueRef>& inputs,
                                          const std::atomic<bool>& stop, const MakeOutput& make) {
  if (inputs.size() != slots_.inputs.size()) {
    throw Error(Code::kInternal, "run: expected " + std::to_string(slots_.inputs.size()) +
                                     " inputs, found " + std::to_string(inputs.size()));
  }
  std::vector<ValueRef> outputs(slots_.outputs.size());
  RunOptions options;
  options.cancel = &stop;
  executor_->run(inputs, outputs, options, &make);
  return outputs;
}

}  // namespace gantry

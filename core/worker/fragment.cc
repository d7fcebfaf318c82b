// SPDX-License-Identifier: Apache-2.0
#include "worker/fragment.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/thread_pool.h"
#include "program/program.h"
#include "worker/cut.h"

namespace gantry {
namespace {

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
    : graph_(std::move(graph)),
      slots_(cut_to(*graph_, request.nodes, request.inputs, request.outputs)) {
  build(candidate, request.threads > 0 ? request.threads : hardware_threads(), stop_grace_ms);
}

void WorkerFragment::build(const Candidate& candidate, uint32_t threads, uint64_t stop_grace_ms) {
  const std::vector<Candidate> candidates = {candidate};
  const std::vector<std::vector<DeviceProvider>> owners = {
      {DeviceProvider{candidate.provider, candidate.device_index}}};
  PlacementPolicy policy;
  BuildOptions options;
  options.threads = threads;
  options.marks_steps = true;
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
      for (const Step& step : executor_->program().steps()) slots_.steps.push_back(step.label);
      return;
    } catch (const CompileFailure& failure) {
      // Each round excludes one set, so the loop ends; another claim may have its nodes.
      failed = failure.message();
      policy.failed.push_back(failure.claim);
      std::sort(policy.failed.back().nodes.begin(), policy.failed.back().nodes.end());
    }
  }
}

void WorkerFragment::run(const std::vector<ValueRef>& inputs, std::vector<ValueRef>& outputs,
                         const std::atomic<bool>& stop, std::atomic<uint64_t>& mark,
                         const MakeOutput& make) {
  if (inputs.size() != slots_.inputs.size()) {
    throw Error(Code::kInternal, "run: expected " + std::to_string(slots_.inputs.size()) +
                                     " inputs, found " + std::to_string(inputs.size()));
  }
  RunOptions options;
  options.cancel = &stop;
  executor_->run(inputs, outputs, options, &make, &mark);
}

}  // namespace gantry

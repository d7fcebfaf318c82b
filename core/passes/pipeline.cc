// SPDX-License-Identifier: Apache-2.0
#include "passes/pipeline.h"

#include <gantry/error.h>

#include <algorithm>
#include <string>

#include "base/run_limits.h"

namespace gantry {
namespace {

constexpr int kMaxRounds = 4;

std::string names_of(const std::vector<Pass>& list) {
  std::string names;
  for (const Pass& pass : list) names += (names.empty() ? "" : ", ") + std::string(pass.name);
  return names;
}

void check_names(const std::vector<std::string>& disabled) {
  for (const std::string& name : disabled) {
    const auto has_name = [&](const Pass& pass) { return pass.name == name; };
    if (std::none_of(passes().begin(), passes().end(), has_name)) {
      throw Error(
          Code::kInvalidArgument,
          "there is no pass \"" + name + "\" to disable; the passes are " + names_of(passes()));
    }
  }
}

// The graph before its bodies, so that its new types and constants reach the bodies in the same
// round.
bool run_everywhere(const Pass& pass, Graph& graph, const PassContext& context) {
  bool changed = pass.run(graph, context);
  for (const auto& node : graph.nodes()) {
    for (Graph* body : node->bodies()) changed |= run_everywhere(pass, *body, context);
  }
  return changed;
}

}  // namespace

const std::vector<Pass>& passes() {
#define GANTRY_PASS(name, function, benefit, adds_operators) \
  {#name, function, benefit, adds_operators},
  static const std::vector<Pass> kPasses = {
#include "passes/passes.def"
  };
#undef GANTRY_PASS
  return kPasses;
}

bool run_passes(Graph& graph, const PassContext& context, const PipelineOptions& options) {
  check_names(options.disabled);
  int changes = 0;
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed = false;
    for (const Pass& pass : passes()) {
      if (options.stop_after >= 0 && changes >= options.stop_after) return changes > 0;
      if (std::find(options.disabled.begin(), options.disabled.end(), pass.name) !=
          options.disabled.end())
        continue;
      poll_load("pass " + std::string(pass.name));
      const TraceSpan span(context.trace, "pass", pass.name);
      try {
        if (!run_everywhere(pass, graph, context)) continue;
        if (options.verify) verify(graph);
      } catch (const Error& error) {
        throw error.in("pass " + std::string(pass.name));
      }
      changed = true;
      ++changes;
    }
    if (!changed) break;
  }
  return changes > 0;
}

}  // namespace gantry

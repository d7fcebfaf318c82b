// SPDX-License-Identifier: Apache-2.0
#include "passes/pipeline.h"

#include <gantry/error.h>

#include <algorithm>

#include "passes/capture_constants.h"
#include "passes/casts.h"
#include "passes/common_subexpressions.h"
#include "passes/constant_folding.h"
#include "passes/dead_code.h"
#include "passes/dropout.h"
#include "passes/gelu.h"
#include "passes/hard_sigmoid.h"
#include "passes/identity.h"
#include "passes/if_constant.h"
#include "passes/layer_normalization.h"
#include "passes/quantized_movement.h"
#include "passes/split_dequantize.h"
#include "passes/wider_floats.h"

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

// The graph first, so that what a pass learns there reaches the bodies in the same round.
bool run_everywhere(const Pass& pass, Graph& graph, const PassContext& context) {
  bool changed = pass.run(graph, context);
  for (const auto& node : graph.nodes()) {
    for (Graph* body : node->bodies()) changed |= run_everywhere(pass, *body, context);
  }
  return changed;
}

}  // namespace

const std::vector<Pass>& passes() {
  static const std::vector<Pass> kPasses = {
      {"identity", remove_identity, "removes Identity, which only copies"},
      {"casts", simplify_casts,
       "removes Casts to the type that is there, and types that are read from tensors"},
      {"wider_floats", widen_floats,
       "computes in float32 what is computed so anyway, without rounding to 16 bits in between"},
      {"dropout", remove_dropout, "removes Dropout, which does nothing in inference"},
      {"capture_constants", capture_constants,
       "gives bodies the constants that they would capture"},
      {"quantized_movement", move_quantized,
       "moves quantized elements without turning them into floats in between"},
      {"constant_folding", fold_constants, "computes once what depends on constants only"},
      {"common_subexpressions", merge_common_subexpressions,
       "computes once what several nodes compute alike"},
      {"gelu", raise_gelu, "raises exporters' spellings of GELU to one node", true},
      {"hard_sigmoid", raise_hard_sigmoid,
       "raises exporters' spellings of HardSigmoid and HardSwish to the operator", true},
      {"layer_normalization", raise_layer_normalization,
       "raises exporters' spelling of a layer normalization to one node", true},
      {"split_dequantize", split_dequantize,
       "gives each reader a DequantizeLinear, for providers that take it along"},
      {"if_constant", inline_constant_if, "replaces an If by the branch that is always taken"},
      {"dead_code", remove_dead_code, "removes what nobody reads"},
  };
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

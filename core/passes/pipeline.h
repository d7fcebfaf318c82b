// SPDX-License-Identifier: Apache-2.0
// The pass pipeline: provider-neutral rewrites of a graph, in a fixed order, each verified. Passes
// never mention a provider.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/trace.h"
#include "graph/graph.h"

namespace gantry {

/// Computes the outputs of a graph without inputs and captures. The session passes it, so that
/// constant folding uses the providers' kernels. Returns an empty vector if the graph cannot be
/// run.
using Evaluator = std::function<std::vector<ValueRef>(const Graph& graph)>;

struct PassContext {
  Evaluator evaluate;  ///< empty: constants are not folded
  /// True if a node may give different outputs for equal inputs; such nodes are never folded or
  /// merged.
  std::function<bool(const Node&)> is_nondeterministic;
  /// True of nodes that providers may fuse with their readers, as a DequantizeLinear: these are
  /// neither folded nor merged. Empty: no nodes.
  std::function<bool(const Node&)> is_kept;
  /// The fusion group of a node: equal and not null for the nodes of one claim. A pattern within a
  /// group is left to its provider. Empty: no groups.
  std::function<const void*(const Node&)> fusion_group;
  /// True of nodes of the 16-bit float type `narrow` that their provider computes in float32 and
  /// also supports in float32. Empty: no nodes.
  std::function<bool(const Node&, DType narrow)> is_computed_wider;
  Trace* trace = nullptr;  ///< receives a span for each pass
};

/// True if both nodes are in one fusion group (PassContext::fusion_group).
inline bool are_taken_together(const PassContext& context, const Node& a, const Node& b) {
  const void* fusion_group = context.fusion_group ? context.fusion_group(a) : nullptr;
  return fusion_group && fusion_group == context.fusion_group(b);
}

struct Pass {
  const char* name;                                       ///< as in session.disable_passes
  bool (*run)(Graph& graph, const PassContext& context);  ///< true if the graph changed
  const char* benefit;                                    ///< one line
  bool adds_operators = false;  ///< fuses patterns to an operator that the graph may not have had
};

// Declares the function of each pass.
#define GANTRY_PASS(name, function, ...) bool function(Graph& graph, const PassContext& context);
#include "passes/passes.def"
#undef GANTRY_PASS

/// The passes in order.
const std::vector<Pass>& passes();

struct PipelineOptions {
  std::vector<std::string> disabled;  ///< names; INVALID_ARGUMENT: unknown
  int stop_after = -1;  ///< number of passes that may change the graph, for bisecting; -1: all
  bool verify = true;   ///< after every pass that changed something
};

/// Runs all passes on the graph and its bodies until nothing changes (at most 4 rounds). Passes
/// keep the names and order of the inputs and outputs of the main graph. Errors name the pass. True
/// if the graph changed.
bool run_passes(Graph& graph, const PassContext& context, const PipelineOptions& options = {});

}  // namespace gantry

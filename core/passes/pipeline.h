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

/// Computes outputs of nodes whose inputs are all constants; injected by the session, so that
/// folding uses the providers' own kernels. `graph` has no inputs and no captures; returns its
/// outputs, or nullopt-like empty vector if nobody can run it.
using Evaluator = std::function<std::vector<ValueRef>(const Graph& graph)>;

struct PassContext {
  Evaluator evaluate;  ///< empty: constants are not folded
  /// True if a node may give different outputs for equal inputs; such nodes are never folded or
  /// merged.
  std::function<bool(const Node&)> is_nondeterministic;
  /// True of nodes whose place beside another node says something to providers, as that of a
  /// DequantizeLinear: neither folded nor merged. Empty: of none.
  std::function<bool(const Node&)> is_kept;
  /// Equal and not null for nodes that one provider took together when it was asked: a pattern that
  /// lies within is left to it. Empty: none were.
  std::function<const void*(const Node&)> company;
  /// True of nodes whose 16-bit floats, of this type, their provider computes in float32 and would
  /// as well take so. Empty: of none.
  std::function<bool(const Node&, DType narrow)> is_computed_wider;
  Trace* trace = nullptr;  ///< takes a span for each pass
};

/// True if a provider took both nodes together.
inline bool are_taken_together(const PassContext& context, const Node& a, const Node& b) {
  const void* company = context.company ? context.company(a) : nullptr;
  return company && company == context.company(b);
}

struct Pass {
  const char* name;                                       ///< as in session.disable_passes
  bool (*run)(Graph& graph, const PassContext& context);  ///< true if the graph changed
  const char* benefit;                                    ///< one line
  bool raises = false;  ///< makes nodes of operators that the graph may not have had
};

// Declares the function of each pass.
#define GANTRY_PASS(name, function, ...) bool function(Graph& graph, const PassContext& context);
#include "passes/passes.def"
#undef GANTRY_PASS

/// The passes in order.
const std::vector<Pass>& passes();

struct PipelineOptions {
  std::vector<std::string> disabled;  ///< names; INVALID_ARGUMENT: unknown
  int stop_after = -1;  ///< number of passes that may change something, for bisecting; -1: all
  bool verify = true;   ///< after every pass that changed something
};

/// Passes keep the names and order of the inputs and outputs of the main graph.
/// Runs all passes on the graph and its bodies until nothing changes (at most 4 rounds). Errors
/// name the pass. True if something changed.
bool run_passes(Graph& graph, const PassContext& context, const PipelineOptions& options = {});

}  // namespace gantry

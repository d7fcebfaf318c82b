// SPDX-License-Identifier: Apache-2.0
// Plans a model for Session and check(): import, inlining of functions, passes, placement. One
// thread at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/trace.h"
#include "gantry/session.h"
#include "onnx/model.h"
#include "placement/placement.h"
#include "session/plan/evaluate_constants.h"
#include "session/plan/preference.h"

namespace gantry {

/// A model with its placed graph, which may have nodes that no provider claims.
struct PlannedModel {
  std::unique_ptr<OnnxModel> model;  ///< null: the plan was read from an artefact, and has no calls
                                     ///< of model-local functions
  std::map<std::string, std::string> metadata;  ///< the model's
  std::unique_ptr<Graph> graph;
  std::unique_ptr<GraphPlacement> placement;
  uint64_t nodes_in_model = 0;          ///< Placement::nodes_in_model
  bool has_rules = false;               ///< the configuration has placement rules
  std::vector<ConfigWarning> warnings;  ///< parts of the configuration without effect
};

/// A model and its graph as imported: nothing placed, nothing inlined.
struct ImportedModel {
  std::unique_ptr<OnnxModel> model;
  std::unique_ptr<Graph> graph;
};

/// How a session reads its model.
struct ImportSettings {
  FileAccess access = FileAccess::kMap;
  ModelChanges changes = {};
  DeclaredOperators operators = {};  ///< of providers
};

/// May open the providers whose operators follow from these options. Errors as
/// ProviderRegistry::declared_operators.
ImportSettings import_settings(ProviderRegistry& registry, const Config& config,
                               const SessionOptions& options);

/// Maps or copies a model, checks it and imports it, with the defaults of inputs as constants.
/// Opens no provider. Errors as OnnxModel. Any thread.
ImportedModel import_model(const ModelSource& source, const ImportSettings& settings, Trace* trace);

/// Runs the passes and places the graph. Functions that no provider claims are inlined, and their
/// nodes claimed. Constants are folded with the kernels of `host`. `trace`: receives a span for
/// each phase; may be null.
PlannedModel plan_model(const HostPreference& host, const Config& config,
                        const Preference& preference, ImportedModel imported, Trace* trace);

/// Places a graph that has been planned with the same configuration.
void place_planned(PlannedModel& planned, const Preference& preference, Trace* trace);

/// Frees computed constants that no run reads, because providers have packed them. The graph's text
/// shows only the type of large constants.
void release_unused_constants(const Graph& graph);

}  // namespace gantry

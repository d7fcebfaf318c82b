// SPDX-License-Identifier: Apache-2.0
// From a model to a placed graph: import, functions, passes, placement. What Session and check()
// have in common. One thread at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/trace.h"
#include "gantry/session.h"
#include "onnx/model.h"
#include "placement/placement.h"
#include "session/preference.h"

namespace gantry {

/// A model with its placed graph. Nodes that nobody runs are still in it.
struct PlannedModel {
  std::unique_ptr<OnnxModel> model;  ///< null: the plan came from an artefact, and calls no
                                     ///< function of a model's own
  std::map<std::string, std::string> metadata;  ///< the model's
  std::unique_ptr<Graph> graph;
  std::unique_ptr<GraphPlacement> placement;
  uint64_t nodes_in_model = 0;          ///< as Placement has it
  bool has_rules = false;               ///< the configuration sends nodes to devices
  std::vector<ConfigWarning> warnings;  ///< of the configuration: what it says in vain
};

/// A model and its graph as imported: nothing placed, nothing inlined.
struct ImportedModel {
  std::unique_ptr<OnnxModel> model;
  std::unique_ptr<Graph> graph;
};

/// The device CPU at full precision, for what is computed once; called when there is something to
/// fold.
using HostPreference = std::function<Preference()>;

HostPreference folding_host(ProviderRegistry& registry, const Config& config);

/// Maps or copies, checks and reads a model, with the defaults of inputs as constants. Needs no
/// provider. Errors as OnnxModel's. [any]
ImportedModel import_model(const ModelSource& source, FileAccess access, Trace* trace);

/// Places. Functions that nobody claims are inlined and claimed again; constants are folded with
/// the kernels of `host`. `trace`: takes a span for each phase; may be null.
PlannedModel plan_model(const HostPreference& host, const Config& config,
                        const Preference& preference, ImportedModel imported, Trace* trace);

/// Places a graph that has been planned before, by the same configuration.
void place_planned(PlannedModel& planned, const Preference& preference, Trace* trace);

/// Gives up the memory of computed constants that no run reads: providers have made of them what
/// they want. What the graph's text shows of large ones is their type.
void release_unused_constants(const Graph& graph);

/// The placement as users see it.
Placement describe(const PlannedModel& planned, const Preference& preference,
                   const Implementations& implementations = {});

/// Throws UNSUPPORTED with the nodes that nobody runs, each with the reasons.
void require_complete(const PlannedModel& planned, const Preference& preference);

}  // namespace gantry

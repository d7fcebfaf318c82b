// SPDX-License-Identifier: Apache-2.0
// From a model to a placed graph: import, functions, passes, placement. What Session and check()
// have in common. One thread at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/trace.h"
#include "gantry/session.h"
#include "onnx/model.h"
#include "schedule/placement.h"
#include "session/preference.h"

namespace gantry {

/// A model with its placed graph. Nodes that nobody runs are still in it.
struct PlannedModel {
  std::unique_ptr<OnnxModel> model;  ///< null: the plan came from an artefact, and calls no
                                     ///< function of a model's own
  std::map<std::string, std::string> metadata;  ///< the model's
  std::unique_ptr<Graph> graph;
  std::unique_ptr<GraphPlacement> placement;
  bool has_rules = false;               ///< the configuration sends nodes to devices
  std::vector<ConfigWarning> warnings;  ///< of the configuration: what it says in vain
};

/// A model and its graph as imported: nothing placed, nothing inlined.
struct ImportedModel {
  std::unique_ptr<OnnxModel> model;
  std::unique_ptr<Graph> graph;
};

/// Maps, checks and reads a model. Needs no provider. Errors as OnnxModel's. [any]
ImportedModel import_model(const ModelSource& source, Trace* trace);

/// Places. Functions that nobody claims are inlined and claimed again. `fold`:
/// constants are folded with the kernels of `CPU`; without it nothing is compiled. `trace`: takes a
/// span for each phase; may be null.
PlannedModel plan_model(ProviderRegistry& registry, const Config& config,
                        const Preference& preference, ImportedModel imported, bool fold,
                        Trace* trace);

/// Places a graph that has been planned before, by the same configuration.
void place_planned(PlannedModel& planned, const Preference& preference, Trace* trace);

/// The placement as users see it.
Placement describe(const PlannedModel& planned, const Preference& preference);

/// Throws UNSUPPORTED with the nodes that nobody runs, each with the reasons.
void require_complete(const PlannedModel& planned, const Preference& preference);

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// From a model to a placed graph: import, functions, passes, placement. What Session and check()
// have in common. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/trace.h"
#include "gantry/session.h"
#include "onnx/model.h"
#include "schedule/placement.h"
#include "session/runtime_impl.h"

namespace gantry {

/// The devices a session may use, most preferred first, and their providers.
struct Preference {
  std::vector<Candidate> candidates;
  /// by device: its providers, the owner of its memory first
  std::vector<std::vector<DeviceProvider>> owners;
  PlacementPolicy policy;
  std::string named;                    ///< devices that the user named, for messages
  std::vector<ConfigWarning> warnings;  ///< preferred devices that are absent
  Fallback fallback = Fallback::kError;
};

/// Resolves device, configured preference, rules and fallback. A preferred device that is absent is
/// passed over if the fallback policy is not "error". Errors as ProviderRegistry::find and
/// Device::parse.
Preference resolve_preference(ProviderRegistry& registry, const Config& config,
                              const std::string& device);

/// A model with its placed graph. Nodes that nobody runs are still in it.
struct PlannedModel {
  std::unique_ptr<OnnxModel> model;
  std::unique_ptr<Graph> graph;
  std::unique_ptr<GraphPlacement> placement;
  std::vector<ConfigWarning> warnings;  ///< of the configuration: what it says in vain
};

/// Imports and places. Functions that nobody claims are inlined and claimed again. `fold`:
/// constants are folded with the kernels of `CPU`; without it nothing is compiled. `trace`: takes a
/// span for each phase; may be null.
PlannedModel plan_model(ProviderRegistry& registry, const Config& config,
                        const Preference& preference, const ModelSource& source, bool fold,
                        Trace* trace);

/// The placement as users see it.
Placement describe(const PlannedModel& planned, const Preference& preference);

/// Throws UNSUPPORTED with the nodes that nobody runs, each with the reasons.
void require_complete(const PlannedModel& planned, const Preference& preference);

}  // namespace gantry

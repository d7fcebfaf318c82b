// SPDX-License-Identifier: Apache-2.0
#include "session/plan/build_program.h"

#include <algorithm>
#include <utility>

#include "artefact/artefact.h"

namespace gantry {

BuiltProgram build_program(PlannedModel& planned, const Preference& preference,
                           const std::shared_ptr<MemoryBudget>& budget,
                           const BuildOptions& options) {
  PlacementPolicy policy = preference.policy;
  for (;;) {
    BuiltProgram built;
    built.devices = std::make_shared<DeviceTable>(budget);
    if (options.artefact) options.artefact->restart();
    const PackedScope ledger(options.artefact);
    try {
      built.program = std::make_unique<const Program>(*planned.placement, *built.devices,
                                                      preference.owners, options);
      return built;
    } catch (const CompileFailure& failure) {
      // Each round excludes one set of nodes of one provider, so the loop ends.
      policy.failed.push_back(failure.claim);
      std::sort(policy.failed.back().nodes.begin(), policy.failed.back().nodes.end());
      planned.placement = place(*planned.graph, preference.candidates, policy);
      if (!planned.placement->complete()) throw Error(failure.code(), failure.message());
    }
  }
}

}  // namespace gantry

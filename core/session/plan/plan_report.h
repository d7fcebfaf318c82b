// SPDX-License-Identifier: Apache-2.0
// What a plan tells its user: where each node runs, and why some run nowhere. Any thread.
#pragma once

#include <string>
#include <vector>

#include "gantry/session.h"
#include "placement/placement.h"
#include "session/plan/plan_model.h"
#include "session/plan/preference.h"

namespace gantry {

/// The placement as users see it.
Placement describe(const PlannedModel& planned, const Preference& preference,
                   const Implementations& implementations = {});

/// Throws UNSUPPORTED if there are nodes that no provider runs; the message has their reasons.
/// Requires a plan with its model, or one that is complete. `without_options`: of
/// DeclaredOperators, named where the operator may be one of theirs.
void require_complete(const PlannedModel& planned, const Preference& preference,
                      const std::vector<std::string>& without_options = {});

}  // namespace gantry

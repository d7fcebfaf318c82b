// SPDX-License-Identifier: Apache-2.0
// Second thoughts of a placement: claims that are better off on another device than the most
// preferred one. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/graph_placement.h"

namespace gantry {

/// What one candidate answered for the graph.
struct CandidateAnswers {
  const Candidate* candidate = nullptr;
  ClaimAnswers answers;
};

/// Moves integer arithmetic of a few elements whose results are read in host memory only (the
/// sizes of a Reshape) from devices with memory of their own to a candidate in host memory, so
/// that a device is not stopped to read an integer back. `is_pinned`: by node, where a rule
/// decides.
void move_shape_arithmetic(GraphPlacement& placement, const std::vector<CandidateAnswers>& answers,
                           const std::vector<uint8_t>& is_pinned);

/// Moves connected claims of one device together to another candidate where the estimated times of
/// their kernels and of the copies at their borders are lower there. Claims whose time is unknown
/// on either side stay. Each set of claims is looked at once.
void move_to_lower_cost(GraphPlacement& placement, const std::vector<CandidateAnswers>& answers,
                        const std::vector<uint8_t>& is_pinned);

}  // namespace gantry

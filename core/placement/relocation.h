// SPDX-License-Identifier: Apache-2.0
// Moves claims of a placement from the most preferred device to one where they cost less. One
// thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/graph_placement.h"

namespace gantry {

/// The answers of one candidate for the graph.
struct CandidateAnswers {
  const Candidate* candidate = nullptr;
  ClaimAnswers answers;
};

/// Moves shape arithmetic to the host: integer operations on a few elements whose results are read
/// in host memory only (the shape input of Reshape) go from devices with memory of their own to a
/// candidate in host memory, so that no run waits for a device to read an integer back.
/// `is_pinned`: by node, not 0 if a rule places the node.
void move_shape_arithmetic(GraphPlacement& placement, const std::vector<CandidateAnswers>& answers,
                           const std::vector<uint8_t>& is_pinned);

/// Moves connected claims of one device together to another candidate if the estimated time of
/// their kernels and of the copies of their inputs and outputs is lower there. Claims whose time is
/// unknown on either side stay. Each set of claims is considered once.
void move_to_lower_cost(GraphPlacement& placement, const std::vector<CandidateAnswers>& answers,
                        const std::vector<uint8_t>& is_pinned);

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// Parts of a tensor along an axis copied together, as Concat and Split have them: a launch costs
// more than a copy of a few kilobytes. Pure functions of shapes.
#pragma once

#include <vector>

#include "operation.h"

namespace gantry::cuda {

/// Rows of bytes that are dense, from pitch to pitch.
struct RowsCopy {
  Buffer target;
  Buffer source;
  int64_t rows = 0;
  int64_t row_bytes = 0;
  int64_t target_pitch_bytes = 0;
  int64_t source_pitch_bytes = 0;
};

/// Plans all of them, which may be none or empty, in as few launches as possible. UNSUPPORTED: a
/// row of 2^31 words or more.
void plan_row_copies(Planner& planner, const std::vector<RowsCopy>& copies);

}  // namespace gantry::cuda

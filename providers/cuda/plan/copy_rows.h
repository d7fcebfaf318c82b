// SPDX-License-Identifier: Apache-2.0
// Plans several strided copies in one launch, for Concat and Split, where a launch costs more than
// a copy of a few kilobytes. Pure functions of shapes.
#pragma once

#include <vector>

#include "plan/operation.h"

namespace gantry::cuda {

/// A 2-D copy: rows of contiguous bytes with a pitch on each side.
struct RowsCopy {
  Buffer target;
  Buffer source;
  int64_t rows = 0;
  int64_t row_bytes = 0;
  int64_t target_pitch_bytes = 0;
  int64_t source_pitch_bytes = 0;
};

/// Plans the copies in as few launches as possible. The list and each copy may be empty.
/// UNSUPPORTED: a row of 2^31 words or more.
void plan_row_copies(Planner& planner, const std::vector<RowsCopy>& copies);

}  // namespace gantry::cuda

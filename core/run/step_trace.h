// SPDX-License-Identifier: Apache-2.0
// What a trace says of a step: the tensors that its call had, as numbers in the record's payload.
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gantry/dtype.h"

namespace gantry {

/// A tensor of a recorded call.
struct TracedTensor {
  DType dtype = DType::kUndefined;
  std::vector<int64_t> shape;
};

/// Empty entries: slots without a tensor.
struct TracedCall {
  std::vector<std::optional<TracedTensor>> inputs;
  std::vector<std::optional<TracedTensor>> outputs;
};

/// Reads what Frame::note_step wrote.
TracedCall read_call(std::span<const int64_t> payload);

}  // namespace gantry

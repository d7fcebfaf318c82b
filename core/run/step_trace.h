// SPDX-License-Identifier: Apache-2.0
// The payload of a step's trace record: types and shapes of the tensors of its call, as integers.
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

/// The tensors of a recorded call, by slot; empty entries: slots without a tensor.
struct TracedCall {
  std::vector<std::optional<TracedTensor>> inputs;
  std::vector<std::optional<TracedTensor>> outputs;
};

/// Reads a payload that Frame::note_step wrote.
TracedCall read_call(std::span<const int64_t> payload);

}  // namespace gantry

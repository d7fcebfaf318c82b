// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "graph/graph.h"

namespace gantry {

/// The type of f32 tensors [rows, 4]; rows -1: any number, called `symbol`.
inline TypeInfo float_matrix(int64_t rows, const std::string& symbol) {
  return {Kind::kTensor, DType::kFloat, true, {rows, 4}, {symbol, ""}};
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// Tolerances of results by element type, as in the table of docs/write-a-provider.md.
#pragma once

#include <gantry/tensor.h>

#include <string>

namespace gantry::checks {

/// |found - expected| <= absolute + relative * |expected|.
struct Tolerance {
  std::string type;  ///< "float16"
  double relative = 0;
  double absolute = 0;
};

/// The tolerance of a tensor's element type; of a sequence, optional or map that of its last item.
/// Integers must be exact, unless they result from rounding (`is_quantized`).
Tolerance tolerance_of(const Value& expected, bool is_quantized);

}  // namespace gantry::checks

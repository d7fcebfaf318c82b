// SPDX-License-Identifier: Apache-2.0
// Compares outputs of a model with expected ones. Pure functions.
#pragma once

#include <gantry/tensor.h>

#include <cstdint>
#include <string>

namespace gantry::cli {

/// |actual - expected| <= absolute + relative * |expected|. The defaults are those of ONNX's
/// backend tests.
struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

struct Comparison {
  bool equal = true;
  double max_absolute = 0;  ///< largest difference
  double max_expected = 0;  ///< largest expected magnitude
  uint64_t elements = 0;    ///< compared
  uint64_t differing = 0;   ///< outside the tolerance
  std::string difference;   ///< the first one, in words; empty if equal
};

/// Compares kind, element type, shape and elements; sequences, optionals and maps element by
/// element. NaN equals NaN.
Comparison compare(const Value& actual, const Value& expected, const Tolerance& tolerance);

}  // namespace gantry::cli

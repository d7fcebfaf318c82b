// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy format: a header in Python's notation, then the elements. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/value.h"

namespace gantry {

/// The array as a tensor. `expected` (may be kUndefined) names the type of elements that NumPy has
/// no name for: bfloat16 and float8 come as "V" or unsigned integers of the same size, 4- and 2-bit
/// types as one byte for each element. INVALID_ARGUMENT: not the format, truncated, or raw elements
/// that nothing names. UNSUPPORTED: structured or object arrays.
ValueRef parse_npy(std::span<const std::byte> file, DType expected);

/// The tensor as a file of format version 1.0. Requires a dense tensor in host memory.
std::string to_npy(const gantry_value& tensor);

}  // namespace gantry

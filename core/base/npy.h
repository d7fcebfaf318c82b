// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy format: a header in Python's notation, then the elements. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/value.h"

namespace gantry {

/// Parses an array as a tensor. `expected` (may be kUndefined): the element type of types unknown
/// to NumPy: bfloat16 and float8, which are stored as "V" or as unsigned integers of the same size,
/// and 4- and 2-bit types, stored as one byte per element. INVALID_ARGUMENT: not the format,
/// truncated, or raw elements without `expected`. UNSUPPORTED: structured or object arrays.
ValueRef parse_npy(std::span<const std::byte> file, DType expected);

/// Formats a tensor as a file of version 1.0. Requires a dense tensor in host memory.
std::string to_npy(const gantry_value& tensor);

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// Converts elements of any type to numbers, and generates random elements. Pure functions.
#pragma once

#include <gantry/tensor.h>

#include <cstdint>
#include <random>
#include <vector>

namespace gantry::cli {

/// The elements as doubles, exact up to 53 bits; a complex element gives two. Throws
/// INVALID_ARGUMENT for strings.
std::vector<double> to_numbers(const Tensor& tensor);

/// A tensor of random elements: floating point in [-1, 1), integers of 32 and 64 bits 0 or 1,
/// others from 0 to 9 (or to the largest of the type), booleans, strings of digits. The same
/// generator state gives the same elements on every machine.
Tensor random_tensor(DType dtype, const std::vector<int64_t>& shape, std::mt19937_64& generator);

}  // namespace gantry::cli

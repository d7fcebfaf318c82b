// SPDX-License-Identifier: Apache-2.0
// Elements of any type as numbers, to compare and to summarise, and random ones. Pure functions.
#pragma once

#include <gantry/tensor.h>

#include <cstdint>
#include <random>
#include <vector>

namespace gantry::cli {

/// The elements as numbers, exact up to 53 bits; complex ones as two numbers each.
/// INVALID_ARGUMENT: strings.
std::vector<double> to_numbers(const Tensor& tensor);

/// A tensor of random elements: floating point in [-1, 1), integers from 0 to 9 (or to their
/// largest), bools, digits as strings. The same generator state gives the same elements on every
/// machine.
Tensor random_tensor(DType dtype, const std::vector<int64_t>& shape, std::mt19937_64& generator);

}  // namespace gantry::cli

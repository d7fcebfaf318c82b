// SPDX-License-Identifier: Apache-2.0
// What the library does not lose: where all numbers that it is given are ordinary, it meets neither
// NaN nor infinity on the way (docs/decisions/0077-nan-and-infinity.md).
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <span>

namespace gantry::x86 {

/// True if each is a number below 2^50, so that sums of up to 2^26 products of two such are finite.
/// On the threads of the arena around. [any]
bool is_ordinary(std::span<const float> numbers);
bool is_ordinary(const dnnl::memory& numbers);  ///< f32 or bf16

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// Checks operands for values from which NaN or infinity may arise: oneDNN's post-ops lose those
// (docs/decisions/0077-nan-and-infinity.md).
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <span>

namespace gantry::x86 {

/// True if all magnitudes are below 2^50, so that sums of up to 2^26 products of two such numbers
/// are finite. False for NaN and infinity. Uses the threads of with_threads(). [any]
bool is_ordinary(std::span<const float> numbers);
bool is_ordinary(const dnnl::memory& numbers);  ///< f32 or bf16

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// Element types in the kernels' text, and arithmetic of shapes. Pure functions.
#pragma once

#include <gantry/provider.h>
#include <gantry/sdk/rows.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gantry::cuda {

using Extents = std::vector<int64_t>;

/// Types that kernels compute with.
inline constexpr sdk::DTypeSet kComputed = sdk::kNumbers | sdk::kBool;

/// Name of a type in memory: "f16". Requires a type of kComputed.
std::string type_name(uint32_t dtype);
/// Name of the type that it is computed in: "float" for f16.
std::string computed_name(uint32_t dtype);
/// Bytes of an element of a type of whole bytes.
int64_t bytes_of(uint32_t dtype);
/// A number as a literal of the type that `dtype` is computed in.
std::string literal(uint32_t dtype, double value);

/// The number that lies at an address of the host, which may be any: of a float type, or an integer
/// of at least 16 bits.
double number_at(uint32_t dtype, const void* address);

int64_t count_of(const Extents& shape);
/// Product of extents [first, last).
int64_t count_of(const Extents& shape, size_t first, size_t last);
/// Strides in elements of a dense tensor.
Extents dense_strides(const Extents& shape);
/// The shape that both are broadcast to, as NumPy does. INVALID_ARGUMENT: there is none.
Extents broadcast(const Extents& a, const Extents& b);
/// Strides with which a dense tensor of `shape`, aligned at the last axes, is seen in `whole`: 0
/// along axes that are repeated.
Extents broadcast_strides(const Extents& shape, const Extents& whole);
/// The axis counted from 0. INVALID_ARGUMENT: outside of [-rank, rank); `what` it is.
int64_t checked_axis(int64_t axis, int64_t rank, const char* what);
/// "[2, 3]"
std::string text_of(const Extents& shape);

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// Element types in kernel sources, and arithmetic of shapes. Pure functions.
#pragma once

#include <gantry/provider.h>
#include <gantry/sdk/rows.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gantry::cuda {

using Extents = std::vector<int64_t>;

/// Types that kernels can compute with.
inline constexpr sdk::DTypeSet kComputed = sdk::kNumbers | sdk::kBool;

/// Kernel type of an element in memory: "f16". Requires a type of kComputed.
std::string type_name(uint32_t dtype);
/// Kernel type that an element is computed in: "float" for f16.
std::string computed_name(uint32_t dtype);
/// Size of an element in bytes. Requires a type of at least 8 bits.
int64_t bytes_of(uint32_t dtype);
/// A literal of the type that `dtype` is computed in.
std::string literal(uint32_t dtype, double value);

/// The number at a host address, which may be unaligned. Requires a float type or an integer of at
/// least 16 bits.
double number_at(uint32_t dtype, const void* address);

int64_t count_of(const Extents& shape);
/// Product of extents [first, last).
int64_t count_of(const Extents& shape, size_t first, size_t last);
/// Strides in elements of a dense tensor.
Extents dense_strides(const Extents& shape);
/// The shape that NumPy broadcasts both to. INVALID_ARGUMENT: there is none.
Extents broadcast(const Extents& a, const Extents& b);
/// Strides of a dense tensor of `shape`, broadcast to `whole`: 0 along repeated axes.
Extents broadcast_strides(const Extents& shape, const Extents& whole);
/// The axis, counted from 0. INVALID_ARGUMENT: outside of [-rank, rank); `what` names it in the
/// message.
int64_t checked_axis(int64_t axis, int64_t rank, const char* what);
/// "[2, 3]"
std::string text_of(const Extents& shape);

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// Constants of a graph as numbers. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace gantry::x86 {

/// True for a constant tensor of f32.
bool is_constant_f32(const sdk::ValueView& value);
/// Number of elements of a constant tensor.
int64_t element_count(const sdk::ValueView& value);
/// The elements of a constant f32 tensor, which may start at any byte.
std::vector<float> floats_of(const sdk::ValueView& value);
/// The only element of a constant f32 tensor of any rank.
std::optional<float> scalar_of(const sdk::ValueView& value);
/// The only element of a constant tensor of 64-bit integers.
std::optional<int64_t> integer_of(const sdk::ValueView& value);
/// The numbers of a constant that is broadcast along all axes but `axis` of a tensor of rank
/// `rank`: `channels` of them, or one that is repeated. Nothing if it is no such constant.
std::optional<std::vector<float>> along_axis(const sdk::ValueView& value, int rank, int axis,
                                             int64_t channels);

}  // namespace gantry::x86

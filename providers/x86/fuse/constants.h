// SPDX-License-Identifier: Apache-2.0
// Elements of constants (initialisers) of a graph. Pure functions.
#pragma once

#include <gantry/sdk/graph.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace gantry::x86 {

/// True for a constant tensor of f32.
bool is_constant_f32(const sdk::ValueView& value);
/// Number of elements. Requires a constant.
int64_t element_count(const sdk::ValueView& value);
/// The elements, whose memory need not be aligned. Requires a constant of f32.
std::vector<float> floats_of(const sdk::ValueView& value);
/// The only element of a constant f32 tensor of any rank; nothing for other values.
std::optional<float> scalar_of(const sdk::ValueView& value);
/// The only element of a constant int64 tensor of any rank; nothing for other values.
std::optional<int64_t> integer_of(const sdk::ValueView& value);
/// The `channels` elements of a constant f32 tensor that broadcasts to a tensor of rank `rank`
/// along all axes but `axis`; a single element is repeated. Nothing for other values.
std::optional<std::vector<float>> along_axis(const sdk::ValueView& value, int rank, int axis,
                                             int64_t channels);

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// A function of int8 values with results of int8, as a table of all of them. Pure
// functions, from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fuse/quantization.h"

namespace gantry::x86 {

constexpr size_t kInt8Values = 256;
/// The results by the byte that stands for the operand.
using LookupTable = std::array<uint8_t, kInt8Values>;

/// What each byte stands for.
std::array<float, kInt8Values> floats_of_bytes(const Quantization& quantization);
/// What stands for each float, which may have become anything; not a number counts as the lowest.
LookupTable bytes_of_floats(const std::array<float, kInt8Values>& floats,
                            const Quantization& quantization);

/// to[i] = table[from[i]]; `from` may be `to`. With AVX-512's instruction for tables of bytes
/// (VBMI) where the CPU has it and ONEDNN_MAX_CPU_ISA does not forbid AVX-512 with VNNI.
void map_bytes(const LookupTable& table, const uint8_t* from, uint8_t* to, int64_t count);

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// A function from int8 to int8 as a table of all its results. Pure functions, from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fuse/quantization.h"

namespace gantry::x86 {

constexpr size_t kInt8Values = 256;
/// Results as bytes, indexed by the byte of the operand.
using LookupTable = std::array<uint8_t, kInt8Values>;

/// The dequantized value of each byte.
std::array<float, kInt8Values> floats_of_bytes(const Quantization& quantization);
/// The quantized value of each float; NaN becomes the lowest.
LookupTable bytes_of_floats(const std::array<float, kInt8Values>& floats,
                            const Quantization& quantization);

/// to[i] = table[from[i]]; `from` may be `to`. Uses AVX-512 VBMI if the CPU has it and
/// ONEDNN_MAX_CPU_ISA allows AVX-512 with VNNI.
void map_bytes(const LookupTable& table, const uint8_t* from, uint8_t* to, int64_t count);

}  // namespace gantry::x86

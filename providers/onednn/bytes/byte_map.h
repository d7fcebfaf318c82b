// SPDX-License-Identifier: Apache-2.0
// A function of numbers of 8 bits with results of 8 bits, as a table of all of them. Pure
// functions, from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "quantization.h"

namespace gantry::onednn {

constexpr size_t kByteNumbers = 256;
/// The results by the byte that stands for the operand.
using ByteTable = std::array<uint8_t, kByteNumbers>;

/// What each byte stands for.
std::array<float, kByteNumbers> floats_of_bytes(const Quantization& quantization);
/// What stands for each float, which may have become anything; not a number counts as the lowest.
ByteTable bytes_of_floats(const std::array<float, kByteNumbers>& floats,
                          const Quantization& quantization);

/// to[i] = table[from[i]]; `from` may be `to`. With AVX-512's instruction for tables of bytes
/// (VBMI) where the CPU has it and ONEDNN_MAX_CPU_ISA does not forbid AVX-512 with VNNI.
void map_bytes(const ByteTable& table, const uint8_t* from, uint8_t* to, int64_t count);

}  // namespace gantry::onednn

// SPDX-License-Identifier: Apache-2.0
// Storage dtype of packed f32 matrices: 16 bits if that is exact, as it is for models that were
// trained or stored in bf16 or f16. It halves the memory traffic of skinny GEMMs and changes no
// result. Pure functions, from any thread.
#pragma once

#include <cstdint>

namespace gantry::x86 {

/// f32, bf16 or f16.
enum class StorageDtype : uint8_t { kFloat, kBf16, kF16 };

constexpr int64_t bytes_of(StorageDtype dtype) { return dtype == StorageDtype::kFloat ? 4 : 2; }

/// The narrowest dtype that holds all of `count` floats, of any alignment, exactly. Reads them on
/// all cores and stops at the first that does not fit.
StorageDtype narrowest_dtype(const void* floats, int64_t count);

/// Converts floats to bf16 or f16. Requires a `dtype` that holds them exactly.
void narrow(const float* floats, int64_t count, StorageDtype dtype, uint16_t* target);

}  // namespace gantry::x86

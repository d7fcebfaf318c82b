// SPDX-License-Identifier: Apache-2.0
// Matrices whose floats fit 16 bits without being rounded, as those of models that were trained, or
// kept, in bf16 or f16 do. They are held so, which halves what skinny GEMMs wait for, and
// changes no result. Pure functions, from any thread.
#pragma once

#include <cstdint>

namespace gantry::x86 {

/// What the numbers of a matrix are held as.
enum class StorageDtype : uint8_t { kFloat, kBrain, kHalf };

constexpr int64_t bytes_of(StorageDtype numbers) { return numbers == StorageDtype::kFloat ? 4 : 2; }

/// The narrowest that holds all of `count` floats, at any byte, exactly. Reads up to the first that
/// does not fit, on all cores.
StorageDtype numbers_of(const void* floats, int64_t count);

/// Requires that numbers_of() said kBrain or kHalf of the floats.
void narrow(const float* floats, int64_t count, StorageDtype numbers, uint16_t* target);

}  // namespace gantry::x86

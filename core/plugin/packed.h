// SPDX-License-Identifier: Apache-2.0
// Immutable data that providers make once per process for each key and share (packed weights). Any
// thread: the first caller of a key fills, others of that key wait.
#pragma once

#include <cstdint>

namespace gantry {

/// The data for `key`, made by `fill` if nobody holds it. Each call is matched by one
/// release_packed. INVALID_ARGUMENT: the key is held with another size. OUT_OF_MEMORY.
const void* acquire_packed(const uint8_t key[32], uint64_t size_bytes,
                           void (*fill)(void* arg, void* target), void* arg);
/// Frees the data with its last user; null and unknown pointers have no effect.
void release_packed(const void* data) noexcept;
/// Bytes held now.
uint64_t packed_bytes() noexcept;

}  // namespace gantry

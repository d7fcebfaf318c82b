// SPDX-License-Identifier: Apache-2.0
// Alignment of tensors in memory that gantry allocates, and rounding up of sizes.
#pragma once

#include <cstdint>

namespace gantry {

/// Bytes: a cache line, and the widest vector of a processor.
constexpr uint64_t kTensorAlignment = 64;

/// The least multiple of `unit` that is at least `size_bytes`. Wraps around beyond 64 bits, so
/// check untrusted sizes first.
constexpr uint64_t round_up(uint64_t size_bytes, uint64_t unit) {
  return (size_bytes + unit - 1) / unit * unit;
}

}  // namespace gantry

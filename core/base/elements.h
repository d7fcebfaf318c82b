// SPDX-License-Identifier: Apache-2.0
// Copies elements between tensors of any type: whole bytes, packed types, strings.
#pragma once

#include <cstdint>

#include "base/value.h"

namespace gantry {

/// Equally spaced segments of a dense tensor's elements: one begins at `first`, the next `pitch`
/// elements behind it.
struct StridedSegments {
  int64_t first = 0;
  int64_t pitch = 0;
};

/// Copies `count` segments of `length` elements from one tensor to another of the same element
/// type. Elements that share a byte with a written one keep their values; only one thread may write
/// such a tensor. Requires host memory, no overlap, and every segment inside its tensor.
void copy_elements(const gantry_value& from, StridedSegments source, gantry_value& to,
                   StridedSegments target, int64_t count, int64_t length);

// Bools are bytes, and kernels rely on each byte being 0 or 1. Bools from outside may have other
// bytes; all but 0 are true. They are normalized where they enter: inputs of a run, constants of
// models and images, and tensors from worker processes.

/// True if each of the bytes is 0 or 1.
bool are_plain_bools(const void* data, uint64_t size_bytes) noexcept;
/// Makes each byte that is not 0 a 1.
void make_plain_bools(void* data, uint64_t size_bytes) noexcept;
/// The value itself if its bools are 0 and 1, else a copy with normalized bools; items of sequences
/// and optionals included. Device tensors are not changed. OUT_OF_MEMORY.
ValueRef with_plain_bools(ValueRef value);

}  // namespace gantry

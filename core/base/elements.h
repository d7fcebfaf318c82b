// SPDX-License-Identifier: Apache-2.0
// Moving elements between tensors, whatever they are made of: bytes, parts of bytes, or strings.
#pragma once

#include <cstdint>

#include "base/value.h"

namespace gantry {

/// Equally spaced segments of a dense tensor's elements: one begins at `first`, the next `pitch`
/// elements behind it.
struct Stretches {
  int64_t first = 0;
  int64_t pitch = 0;
};

/// Copies `count` segments of `length` elements from one tensor to another of the same element
/// type. Neighbours of what is written keep their values where they share a byte; such tensors must
/// be written by one thread. Requires both in host memory, not overlapping, and every segment
/// inside its tensor.
void copy_elements(const gantry_value& from, Stretches source, gantry_value& to, Stretches target,
                   int64_t count, int64_t length);

// Bools are bytes, and kernels rely on each being 0 or 1: one counts by value, the next writes by
// truth. What comes from outside may have other bytes, of which all but 0 are true. They are made
// plain at the border: a run's inputs, constants of models and images, and what worker processes
// send.

/// True if each of the bytes is 0 or 1.
bool are_plain_bools(const void* data, uint64_t size_bytes) noexcept;
/// Makes each byte that is not 0 a 1.
void make_plain_bools(void* data, uint64_t size_bytes) noexcept;
/// The value itself, or a copy of it whose bools are 0 and 1; also of a sequence's or an optional's
/// items. Tensors in the memory of a device are left as they are. OUT_OF_MEMORY.
ValueRef with_plain_bools(ValueRef value);

}  // namespace gantry

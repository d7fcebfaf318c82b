// SPDX-License-Identifier: Apache-2.0
// Moving elements between tensors, whatever they are made of: bytes, parts of bytes, or strings.
#pragma once

#include <cstdint>

#include "base/value.h"

namespace gantry {

/// Equally spaced stretches of a dense tensor's elements: one begins at `first`, the next `pitch`
/// elements behind it.
struct Stretches {
  int64_t first = 0;
  int64_t pitch = 0;
};

/// Copies `count` stretches of `length` elements from one tensor to another of the same element
/// type. Neighbours of what is written keep their values where they share a byte; such tensors must
/// be written by one thread. Requires both in host memory, not overlapping, and every stretch
/// inside its tensor.
void copy_elements(const gantry_value& from, Stretches source, gantry_value& to, Stretches target,
                   int64_t count, int64_t length);

}  // namespace gantry

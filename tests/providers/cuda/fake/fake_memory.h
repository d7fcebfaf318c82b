// SPDX-License-Identifier: Apache-2.0
// Memory of the fake device. A fresh block is 0xff everywhere, so that what is read before it was
// written shows as NaN. Large blocks cost nothing until they are used: most of a library's
// workspace never is.
#pragma once

#include <cstddef>

namespace gantry::test {

/// A block of `bytes` (> 0), aligned to 256 bytes; nullptr if there is no room.
void* take_memory(size_t bytes);
/// Gives back what take_memory(`bytes`) returned.
void give_memory(void* memory, size_t bytes);

}  // namespace gantry::test

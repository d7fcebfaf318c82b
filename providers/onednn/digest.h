// SPDX-License-Identifier: Apache-2.0
// Digests by which equal weights are found. They tell what is equal by accident from what is not,
// at the speed of memory; nobody can gain by forging one (docs/decisions/0019).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "library.h"

namespace gantry::onednn {

using Digest = std::array<uint64_t, 2>;

/// Of `size_bytes` bytes and a text, on all cores.
Digest digest_of(const void* data, uint64_t size_bytes, std::string_view text);
/// Every property of a layout, as text.
std::string text_of(const Desc& desc);

}  // namespace gantry::onednn

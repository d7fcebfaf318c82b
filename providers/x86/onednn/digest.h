// SPDX-License-Identifier: Apache-2.0
// 128-bit digests (XXH3) that identify equal weights, at memory speed. Not cryptographic: nobody
// gains by forging one (docs/decisions/0019).
#pragma once

#include <gantry/sdk/blob.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "onednn/library.h"

namespace gantry::x86 {

using Digest = std::array<uint64_t, 2>;

/// The digest of `size_bytes` bytes and a text, computed on all cores.
Digest digest_of(const void* data, uint64_t size_bytes, std::string_view text);
/// Every property of a layout, as text.
std::string text_of(const Desc& desc);

/// The digest cached in `choices` under `name`, so that the weights need not be read; else that of
/// `make()`, which is then cached.
template <class Make>
Digest cached_digest(sdk::Choices& choices, const std::string& name, Make&& make) {
  Digest digest{};
  const std::string* kept = choices.find(name);
  if (kept && kept->size() == sizeof(digest)) {
    std::memcpy(digest.data(), kept->data(), sizeof(digest));
    return digest;
  }
  digest = make();
  choices.set(name, {reinterpret_cast<const char*>(digest.data()), sizeof(digest)});
  return digest;
}

}  // namespace gantry::x86

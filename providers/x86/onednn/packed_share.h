// SPDX-License-Identifier: Apache-2.0
// Memory of packed weights that the host shares by content and layout (docs/decisions/0019).
#pragma once

#include <gantry/sdk/error.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>

#include "onednn/digest.h"

namespace gantry::x86 {

/// Records whether the memory of a key was filled. After a failed fill other users of the key may
/// receive the memory before the failing one releases it. [any]
void note_filled(const std::array<Digest, 2>& key, bool is_filled);
/// Throws OUT_OF_MEMORY for a key whose memory could not be filled. [any]
void require_filled(const std::array<Digest, 2>& key);

/// Shared, immutable memory of `size_bytes` bytes for `key`, the digests of content and layout.
/// fill(void* target) writes it, unless the process or the compiled-model cache has the key
/// already. Errors: OUT_OF_MEMORY, and those of `fill`.
template <class Fill>
std::shared_ptr<const void> share_packed(const gantry_host* host, const std::array<Digest, 2>& key,
                                         uint64_t size_bytes, const Fill& fill) {
  struct Call {
    const Fill& fill;
    const std::array<Digest, 2>& key;
    std::exception_ptr failure;
  } call{fill, key, nullptr};
  const auto run = [](void* self, void* target) {
    auto& asked = *static_cast<Call*>(self);
    try {
      asked.fill(target);
    } catch (...) {  // may not cross the boundary
      asked.failure = std::current_exception();
    }
    note_filled(asked.key, asked.failure == nullptr);
  };
  std::array<uint8_t, 32> bytes{};
  static_assert(sizeof(key) == sizeof(bytes));
  std::memcpy(bytes.data(), key.data(), sizeof(bytes));
  const void* data = nullptr;
  sdk::check(host, host->packed_acquire(bytes.data(), size_bytes, run, &call, &data));
  std::shared_ptr<const void> share(data,
                                    [host](const void* memory) { host->packed_release(memory); });
  if (call.failure) std::rethrow_exception(call.failure);
  require_filled(key);
  return share;
}

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// The interface of libgantry_digest, a library beside the helper programs: SHA-256 by OpenSSL's
// libcrypto. libcrypto takes a millisecond to open and most processes need no digest, so the first
// digest opens it (digest.cc).
#pragma once

#include <cstddef>
#include <string>

namespace gantry {

/// begin() makes a state and end() frees it; one thread for each state. [any]
struct DigestLibrary {
  /// Null: libcrypto has no SHA-256.
  void* (*begin)() noexcept;
  /// False: libcrypto refused.
  bool (*add)(void* state, const char* bytes, size_t size_bytes) noexcept;
  /// Writes the 32 bytes of the digest; nothing may be added afterwards. False: libcrypto refused.
  bool (*finish)(void* state, unsigned char* out_digest) noexcept;
  /// Accepts null.
  void (*end)(void* state) noexcept;
};

/// Opens the library in a folder; it stays open. UNAVAILABLE: it does not exist or cannot be
/// opened. [any]
const DigestLibrary& open_digest_library(const std::string& folder);

}  // namespace gantry

extern "C" {
/// The one symbol of the library; immutable.
[[gnu::visibility("default")]] extern const gantry::DigestLibrary gantry_digest;
}

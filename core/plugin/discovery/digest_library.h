// SPDX-License-Identifier: Apache-2.0
// What libgantry_digest, a library of its own beside the helper programs, gives to the core:
// SHA-256 by OpenSSL's libcrypto. That one takes a millisecond to open, and most processes ask for
// no digest; so it is opened with the first one (digest.cc).
#pragma once

#include <cstddef>
#include <string>

namespace gantry {

/// A state is made by begin(), and freed by end(); one thread for each. [any]
struct DigestLibrary {
  /// Null: libcrypto offers no SHA-256.
  void* (*begin)() noexcept;
  /// False: libcrypto refused.
  bool (*add)(void* state, const char* bytes, size_t size_bytes) noexcept;
  /// Writes the 32 bytes of the digest; nothing may be added afterwards. False: libcrypto refused.
  bool (*finish)(void* state, unsigned char* out_digest) noexcept;
  /// Takes null too.
  void (*end)(void* state) noexcept;
};

/// Opens the library in a folder; it stays open. UNAVAILABLE: it is not there, or cannot be opened.
/// [any]
const DigestLibrary& open_digest_library(const std::string& folder);

}  // namespace gantry

extern "C" {
/// The one symbol of the library; immutable.
[[gnu::visibility("default")]] extern const gantry::DigestLibrary gantry_digest;
}

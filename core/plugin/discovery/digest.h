// SPDX-License-Identifier: Apache-2.0
// SHA-256 by OpenSSL's libcrypto, in a library context of its own: the process's OpenSSL
// configuration is neither read nor changed. The first digest of the process opens libcrypto
// (digest_library.h). One thread for each object.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace gantry {

class Sha256 {
 public:
  /// INTERNAL: libcrypto has no SHA-256. UNAVAILABLE: libcrypto or libgantry_digest cannot be
  /// opened.
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view bytes);
  /// 64 lower-case hex digits; nothing may be added afterwards.
  [[nodiscard]] std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The digest of a text, as Sha256::hex().
std::string sha256_of(std::string_view text);

}  // namespace gantry

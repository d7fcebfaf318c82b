// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/digest_library.h"

#include <openssl/evp.h>

namespace gantry {
namespace {

struct Algorithm {
  OSSL_LIB_CTX* context = OSSL_LIB_CTX_new();
  EVP_MD* sha256 = EVP_MD_fetch(context, "SHA256", nullptr);
};

// Never destroyed: libcrypto cleans up at process exit, in an unknown order.
const Algorithm& algorithm() {
  static const auto* const instance = new Algorithm;
  return *instance;
}

EVP_MD_CTX* of(void* state) { return static_cast<EVP_MD_CTX*>(state); }

void* begin() noexcept {
  EVP_MD_CTX* state = EVP_MD_CTX_new();
  const EVP_MD* sha256 = algorithm().sha256;
  if (state && sha256 && EVP_DigestInit_ex2(state, sha256, nullptr) == 1) return state;
  EVP_MD_CTX_free(state);
  return nullptr;
}

bool add(void* state, const char* bytes, size_t size_bytes) noexcept {
  return EVP_DigestUpdate(of(state), bytes, size_bytes) == 1;
}

bool finish(void* state, unsigned char* out_digest) noexcept {
  return EVP_DigestFinal_ex(of(state), out_digest, nullptr) == 1;
}

void end(void* state) noexcept { EVP_MD_CTX_free(of(state)); }

}  // namespace
}  // namespace gantry

const gantry::DigestLibrary gantry_digest = {gantry::begin, gantry::add, gantry::finish,
                                             gantry::end};

// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/digest.h"

#include <gantry/error.h>

#include <array>
#include <openssl/evp.h>

namespace gantry {
namespace {

void require(bool is_good) {
  if (!is_good) throw Error(Code::kInternal, "SHA-256: OpenSSL's libcrypto refused to compute it");
}

struct Algorithm {
  OSSL_LIB_CTX* context = OSSL_LIB_CTX_new();
  EVP_MD* sha256 = EVP_MD_fetch(context, "SHA256", nullptr);
};

// Never destroyed: libcrypto cleans up at the end of the process, in an order that is not known.
const Algorithm& algorithm() {
  static const auto* const instance = new Algorithm;
  return *instance;
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() = default;
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  require(state_->context && algorithm().sha256 &&
          EVP_DigestInit_ex2(state_->context, algorithm().sha256, nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  require(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes = {};
  unsigned int count = 0;
  require(EVP_DigestFinal_ex(state_->context, bytes.data(), &count) == 1);
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

std::string sha256_of(std::string_view text) {
  Sha256 digest;
  digest.add(text);
  return digest.hex();
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/digest.h"

#include <gantry/error.h>

#include <array>
#include <dlfcn.h>
#include <filesystem>

#include "plugin/discovery/digest_library.h"
#include "plugin/discovery/loader_error.h"
#include "plugin/discovery/machine.h"

namespace gantry {
namespace {

constexpr size_t kDigestBytes = 32;

const DigestLibrary& library() {
  static const DigestLibrary& own =
      open_digest_library((std::filesystem::path(own_library()).parent_path() / "gantry").string());
  return own;
}

// OpenSSL allows SHA-256 in every configuration, so a failure means that it has no memory.
void require(bool is_good) {
  if (is_good) return;
  throw Error(Code::kOutOfMemory, "SHA-256: OpenSSL's libcrypto had no memory to compute it");
}

}  // namespace

const DigestLibrary& open_digest_library(const std::string& folder) {
  const std::string file = (std::filesystem::path(folder) / "libgantry_digest.so").string();
  void* opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  const void* table = opened ? dlsym(opened, "gantry_digest") : nullptr;
  if (table) return *static_cast<const DigestLibrary*>(table);
  const char* reason = dlerror();
  const std::string found = reason ? reason : "no reason";
  throw Error(code_of_loader_error(found),
              "SHA-256: expected the library " + file +
                  ", which belongs to gantry and needs OpenSSL's libcrypto, found: " + found +
                  "; install gantry again, or what that library needs");
}

struct Sha256::State {
  void* state = library().begin();
  State() = default;
  ~State() { library().end(state); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { require(state_->state != nullptr); }

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  require(library().add(state_->state, bytes.data(), bytes.size()));
}

std::string Sha256::hex() {
  std::array<unsigned char, kDigestBytes> bytes = {};
  require(library().finish(state_->state, bytes.data()));
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string sha256_of(std::string_view text) {
  Sha256 digest;
  digest.add(text);
  return digest.hex();
}

}  // namespace gantry

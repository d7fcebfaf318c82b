// SPDX-License-Identifier: Apache-2.0
#include "compile/code_cache.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <openssl/sha.h>
#include <unistd.h>

namespace gantry::cuda {
namespace {

namespace fs = std::filesystem;

std::string digest_of(const std::string& bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

constexpr size_t kDigestLength = size_t{2} * SHA256_DIGEST_LENGTH;

}  // namespace

std::string CodeCache::key_of(const std::string& origin) { return digest_of(origin); }

bool CodeCache::load(const std::string& key, std::string& out_code) const {
  if (folder_.empty()) return false;
  std::ifstream file(folder_ + "/" + key, std::ios::binary);
  if (!file) return false;
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (bytes.size() <= kDigestLength) return false;
  std::string code = bytes.substr(kDigestLength);
  if (bytes.compare(0, kDigestLength, digest_of(code)) != 0) return false;
  out_code = std::move(code);
  return true;
}

void CodeCache::store(const std::string& key, const std::string& code) const noexcept try {
  if (folder_.empty()) return;
  static std::atomic<uint64_t> number{0};
  std::error_code failed;
  fs::create_directories(folder_, failed);
  const std::string path = folder_ + "/" + key;
  const std::string written =
      path + "." + std::to_string(getpid()) + "." + std::to_string(number++);
  {
    std::ofstream file(written, std::ios::binary);
    file << digest_of(code) << code;
    file.flush();
    if (!file) failed = std::make_error_code(std::errc::io_error);
  }
  if (!failed) fs::rename(written, path, failed);
  std::error_code ignored;
  if (failed) fs::remove(written, ignored);
} catch (...) {
  // Out of memory: the code is compiled again next time.
}

}  // namespace gantry::cuda

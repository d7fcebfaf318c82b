// SPDX-License-Identifier: Apache-2.0
// A cache entry of one kernel, which gantry_kernel.serialize writes and a later start of the
// process receives as gantry_compile.blob: named strings with a fingerprint and a checksum. A blob
// that is truncated, damaged, of another provider version or of another claim is ignored.
#pragma once

#include <gantry/provider.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace gantry::sdk {

/// 64-bit FNV-1a checksum: detects damage, is no defence against forgery.
inline uint64_t sum_of(std::string_view bytes) {
  uint64_t sum = 0xcbf29ce484222325U;
  for (const char byte : bytes) sum = (sum ^ static_cast<uint8_t>(byte)) * 0x100000001b3U;
  return sum;
}

/// Named results of compiling a claim (choices, measurements) that a later start reuses. A kernel
/// calls keep(), which computes a result only if the blob of an earlier start has none of the name.
/// One thread.
class Choices {
 public:
  Choices() = default;
  /// Reads a blob that has this fingerprint. The fingerprint names everything that decides whether
  /// the results are still valid: versions of provider and libraries, the device, the claim. Any
  /// other blob is ignored, and refusal() says why.
  Choices(const void* blob, uint64_t blob_bytes, std::string fingerprint)
      : fingerprint_(std::move(fingerprint)) {
    if (blob_bytes == 0 || !blob) return;
    refusal_ = read({static_cast<const char*>(blob), blob_bytes});
    if (!refusal_.empty()) kept_.clear();
  }

  /// Why the blob was ignored, a sentence without a final stop; empty: it was read, or there was no
  /// blob.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  /// The result of that name; null: there is none.
  [[nodiscard]] const std::string* find(std::string_view name) const {
    const auto found = kept_.find(name);
    return found == kept_.end() ? nullptr : &found->second;
  }
  void set(const std::string& name, std::string value) { kept_[name] = std::move(value); }
  /// The result of that name if there is one, else what `make()` returns, which is stored under the
  /// name.
  template <class Make>
  const std::string& keep(const std::string& name, Make&& make) {
    if (find(name) == nullptr) set(name, std::forward<Make>(make)());
    return kept_.find(name)->second;
  }

  /// The blob for the next start; empty if there are no results. Equal results make equal blobs.
  [[nodiscard]] std::string blob() const {
    if (kept_.empty()) return {};
    std::string text(kMagic);
    append(text, fingerprint_);
    for (const auto& [name, value] : kept_) {
      append(text, name);
      append(text, value);
    }
    const std::string sum = std::to_string(sum_of(text));
    return text + std::string(kSumDigits - sum.size(), '0') + sum;
  }

 private:
  static constexpr std::string_view kMagic = "gantry choices 1\n";
  static constexpr size_t kSumDigits = 20;  // of a 64-bit integer

  static void append(std::string& text, const std::string& value) {
    text += std::to_string(value.size()) + ":" + value;
  }

  /// Removes from the front of `text` a string that append() wrote; false: there is none.
  static bool take(std::string_view& text, std::string& value) {
    uint64_t size = 0;
    size_t digits = 0;
    for (;
         digits < text.size() && digits < kSumDigits && text[digits] >= '0' && text[digits] <= '9';
         ++digits)
      size = size * 10 + static_cast<uint64_t>(text[digits] - '0');
    if (digits == 0 || digits >= text.size() || text[digits] != ':') return false;
    text.remove_prefix(digits + 1);
    if (size > text.size()) return false;
    value = text.substr(0, static_cast<size_t>(size));
    text.remove_prefix(static_cast<size_t>(size));
    return true;
  }

  std::string read(std::string_view blob) {
    if (blob.substr(0, kMagic.size()) != kMagic) return "it is no blob of this kind";
    if (blob.size() < kMagic.size() + kSumDigits) return "it is truncated";
    const std::string sum = std::to_string(sum_of(blob.substr(0, blob.size() - kSumDigits)));
    if (blob.substr(blob.size() - kSumDigits) != std::string(kSumDigits - sum.size(), '0') + sum)
      return "it is truncated or damaged";
    std::string_view rest = blob.substr(0, blob.size() - kSumDigits);
    rest.remove_prefix(kMagic.size());
    std::string made_for;
    if (!take(rest, made_for)) return "it is truncated or damaged";
    if (made_for != fingerprint_)
      return "it was made for \"" + made_for + "\", and this is \"" + fingerprint_ + "\"";
    while (!rest.empty()) {
      std::string name;
      std::string value;
      if (!take(rest, name) || !take(rest, value)) return "it is truncated or damaged";
      kept_[std::move(name)] = std::move(value);
    }
    return {};
  }

  std::string fingerprint_;
  std::string refusal_;
  std::map<std::string, std::string, std::less<>> kept_;
};

}  // namespace gantry::sdk

// SPDX-License-Identifier: Apache-2.0
// A disk cache: one file per key, which stores a digest of its content. A truncated or damaged file
// counts as a miss. Files are written under a temporary name and renamed, so several processes may
// share the folder. Any thread.
#pragma once

#include <string>

namespace gantry::cuda {

class CodeCache {
 public:
  /// `folder`: created on first use; empty: caching is off.
  explicit CodeCache(std::string folder) : folder_(std::move(folder)) {}

  /// The key, 64 hexadecimal digits, for everything that the cached value depends on.
  static std::string key_of(const std::string& origin);
  /// False: a miss.
  [[nodiscard]] bool load(const std::string& key, std::string& out_code) const;
  /// Stores a value. A folder that cannot be written to is not an error.
  void store(const std::string& key, const std::string& code) const noexcept;

 private:
  std::string folder_;
};

}  // namespace gantry::cuda

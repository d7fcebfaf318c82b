// SPDX-License-Identifier: Apache-2.0
// A folder of files, each named after what it was made from and holding a digest of what it holds:
// a file that is cut off or damaged counts as none. Files appear whole or not at all, so several
// processes may share the folder. Any thread.
#pragma once

#include <string>

namespace gantry::cuda {

class CodeCache {
 public:
  /// `folder`: made when it is first needed; empty: nothing is found and nothing kept.
  explicit CodeCache(std::string folder) : folder_(std::move(folder)) {}

  /// 64 hexadecimal digits for what code is made from.
  static std::string key_of(const std::string& origin);
  /// False: there is none that is whole.
  [[nodiscard]] bool load(const std::string& key, std::string& out_code) const;
  /// Keeps it; a folder that cannot be written to is no error.
  void store(const std::string& key, const std::string& code) const noexcept;

 private:
  std::string folder_;
};

}  // namespace gantry::cuda

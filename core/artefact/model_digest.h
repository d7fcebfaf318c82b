// SPDX-License-Identifier: Apache-2.0
// The content of a model's files as a digest. Reading 100 MB takes 10 ms and more, so a file whose
// state (device, inode, size, times) is that of the last reading is not read again. What a file's
// times cannot tell yet, because it was written just before, is not believed. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mapped_file.h"

namespace gantry {

class ModelDigests {
 public:
  /// `notes`: the file that remembers digests; empty: nothing is remembered. What cannot be read
  /// there is as good as nothing.
  explicit ModelDigests(std::filesystem::path notes);

  /// Of all files' contents: text without spaces at its ends.
  std::string of(const std::vector<std::shared_ptr<const MappedFile>>& files, uint32_t threads);
  /// Writes the notes if they have changed. A folder that cannot be written remembers nothing.
  void save() const noexcept;

 private:
  std::filesystem::path notes_;
  std::map<std::string, std::string> known_;  // state of a file -> digest
  std::map<std::string, std::string> seen_;   // what is to be remembered
  bool has_changed_ = false;
};

}  // namespace gantry

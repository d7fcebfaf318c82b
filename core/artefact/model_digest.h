// SPDX-License-Identifier: Apache-2.0
// Digests of a model's files. Reading 100 MB takes 10 ms and more, so the digest of a file is
// cached with the file's state (device, inode, size, times), and the file is read again only if its
// state differs. The state of a file written just before is not trusted, as its times may not show
// a later write. One thread.
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
  /// `notes`: the file in which digests are cached; empty: no cache. Unreadable content is ignored.
  explicit ModelDigests(std::filesystem::path notes);

  /// A text that identifies the contents of all files.
  std::string of(const std::vector<std::shared_ptr<const MappedFile>>& files, uint32_t threads);
  /// Writes the cache file if it has changed. Errors are ignored.
  void save() const noexcept;

 private:
  std::filesystem::path notes_;
  std::map<std::string, std::string> known_;  // state of a file -> digest
  std::map<std::string, std::string> seen_;   // the new content of the cache
  bool has_changed_ = false;
};

}  // namespace gantry

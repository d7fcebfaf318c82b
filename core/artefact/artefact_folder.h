// SPDX-License-Identifier: Apache-2.0
// The folder of the compiled-model cache: names of its files, permissions, and eviction. Several
// processes may use one folder. Any thread.
#pragma once

#include <gantry/artefacts.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gantry {

class ArtefactFolder {
 public:
  explicit ArtefactFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] const std::filesystem::path& path() const { return folder_; }
  /// The cache file of a model whose file is named `stem`; `identity` distinguishes models and
  /// settings.
  [[nodiscard]] std::filesystem::path file_of(const std::string& stem,
                                              const std::string& identity) const;
  /// UNAVAILABLE: another user could replace a file of the cache.
  void require_trusted(bool is_elevated) const;
  /// Makes the folder, for this user only, if it does not exist. UNAVAILABLE.
  void make() const;
  /// Marks a file as just used, for eviction in LRU order.
  static void touch(const std::filesystem::path& file) noexcept;
  /// Evicts the least recently used files until the rest and `coming_bytes` are within the limit.
  /// `replaced`: the file that will be overwritten, which is not counted. Also removes old
  /// temporary files. UNAVAILABLE: `coming_bytes` alone exceeds the limit.
  void make_room(uint64_t limit_bytes, uint64_t coming_bytes,
                 const std::filesystem::path& replaced) const;
  /// The files, most recently used first.
  [[nodiscard]] std::vector<ArtefactEntry> list() const;
  /// Removes all files; returns their size in bytes.
  uint64_t clear() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// The folder of compiled artefacts: where an artefact stands in it, who may write it, and what is
// thrown out when it is full. Several processes may use one folder. Any thread.
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
  /// The artefact of a model whose file is called `stem`; `identity` tells models and settings
  /// apart.
  [[nodiscard]] std::filesystem::path file_of(const std::string& stem,
                                              const std::string& identity) const;
  /// UNAVAILABLE: somebody else could put another file in the place of one of ours.
  void require_trusted(bool is_elevated) const;
  /// Makes the folder, for this user alone, if it is not there. UNAVAILABLE.
  void make() const;
  /// Notes that an artefact was used: others are thrown out before it.
  static void touch(const std::filesystem::path& file) noexcept;
  /// Throws out those used longest ago until what stays, with `coming_bytes` more, is within the
  /// limit; drafts that their processes left, too. UNAVAILABLE: `coming_bytes` alone are more.
  void make_room(uint64_t limit_bytes, uint64_t coming_bytes,
                 const std::filesystem::path& replaced) const;
  /// Those that are there, used last first.
  [[nodiscard]] std::vector<ArtefactEntry> list() const;
  /// Removes all of them; how many bytes that were.
  uint64_t clear() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace gantry

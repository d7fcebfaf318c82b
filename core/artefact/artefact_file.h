// SPDX-License-Identifier: Apache-2.0
// The file of a compiled artefact: facts (what it was made from), and named parts, each at a
// multiple of 64 bytes, which are used where they stand. It is written whole under another name
// and renamed, and never changed afterwards; every byte of it is under a sum. Immutable; any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/file_watch.h"

namespace gantry {

/// What decides a result, in the order in which differences are told: name and value.
using ArtefactFacts = std::vector<std::pair<std::string, std::string>>;

/// The first fact in which two differ, as a sentence without a final stop; empty: none.
std::string difference_of(const ArtefactFacts& kept, const ArtefactFacts& now);

struct ArtefactPart {
  std::string name;
  std::span<const std::byte> bytes;
};

class ArtefactFile {
 public:
  /// Maps a file and reads what it has, parts apart. NOT_FOUND: there is none. UNAVAILABLE: it
  /// cannot be read, or somebody else may write it. INVALID_ARGUMENT: truncated, damaged, or
  /// another version of the format.
  static std::shared_ptr<const ArtefactFile> open(const std::filesystem::path& path);
  ~ArtefactFile();
  ArtefactFile(const ArtefactFile&) = delete;
  ArtefactFile& operator=(const ArtefactFile&) = delete;

  /// Reads all parts. INVALID_ARGUMENT: one is damaged.
  void verify(uint32_t threads) const;

  [[nodiscard]] const ArtefactFacts& facts() const { return facts_; }
  [[nodiscard]] uint64_t size_bytes() const { return bytes_.size(); }
  /// A part as it stands in the map, for as long as this lives; null: there is none. Its bytes
  /// are only to be read after verify().
  [[nodiscard]] const std::span<const std::byte>* find(const std::string& name) const;
  /// Tells whether others have written the file since; as long as this.
  [[nodiscard]] const FileWatch& watch() const { return *watch_; }

 private:
  ArtefactFile(Descriptor file, std::span<const std::byte> bytes)
      : file_(std::move(file)), bytes_(bytes) {}
  void read();

  Descriptor file_;
  std::span<const std::byte> bytes_;
  std::unique_ptr<const FileWatch> watch_;
  ArtefactFacts facts_;
  std::map<std::string, std::span<const std::byte>> parts_;
  std::span<const std::byte> data_;
  std::vector<uint64_t> sums_;
};

/// Writes a file that only this user can read or write, and puts it in the place of another of
/// that name at once. UNAVAILABLE: the folder is full or cannot be written; nothing is left then.
/// Returns its size.
uint64_t write_artefact(const std::filesystem::path& path, const ArtefactFacts& facts,
                        const std::vector<ArtefactPart>& parts);
/// How large it would be, at least.
uint64_t artefact_bytes(const std::vector<ArtefactPart>& parts);

}  // namespace gantry

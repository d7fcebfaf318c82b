// SPDX-License-Identifier: Apache-2.0
// A file of the compiled-model cache (artefact): metadata that say from what it was made, and named
// parts at multiples of 64 bytes, which are used in place. It is written under another name,
// renamed and never changed afterwards; checksums cover every byte. Immutable; any thread.
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

/// The metadata on which the content depends, as (name, value); differences are reported in this
/// order.
using ArtefactMetadata = std::vector<std::pair<std::string, std::string>>;

/// The first difference, as a sentence without a final stop; empty: none.
std::string difference_of(const ArtefactMetadata& kept, const ArtefactMetadata& now);

struct ArtefactPart {
  std::string name;
  std::span<const std::byte> bytes;
};

class ArtefactFile {
 public:
  /// Maps a file and reads its index and metadata, but not its parts. NOT_FOUND: no such file.
  /// UNAVAILABLE: it cannot be read, or other users may write it. INVALID_ARGUMENT: truncated,
  /// damaged, or another version of the format.
  static std::shared_ptr<const ArtefactFile> open(const std::filesystem::path& path);
  ~ArtefactFile();
  ArtefactFile(const ArtefactFile&) = delete;
  ArtefactFile& operator=(const ArtefactFile&) = delete;

  /// Reads all parts and checks their checksums. INVALID_ARGUMENT: one is damaged.
  void verify(uint32_t threads) const;

  [[nodiscard]] const ArtefactMetadata& metadata() const { return metadata_; }
  [[nodiscard]] uint64_t size_bytes() const { return bytes_.size(); }
  /// A part in the mapped file, valid as long as this; null: there is none. Do not read its bytes
  /// before verify().
  [[nodiscard]] const std::span<const std::byte>* find(const std::string& name) const;
  /// The watch for changes of the file; valid as long as this.
  [[nodiscard]] const FileWatch& watch() const { return *watch_; }

 private:
  ArtefactFile(Descriptor file, std::span<const std::byte> bytes)
      : file_(std::move(file)), bytes_(bytes) {}
  void read();

  Descriptor file_;
  std::span<const std::byte> bytes_;
  std::unique_ptr<const FileWatch> watch_;
  ArtefactMetadata metadata_;
  std::map<std::string, std::span<const std::byte>> parts_;
  std::span<const std::byte> data_;
  std::vector<uint64_t> sums_;
};

/// Writes a file that only this user can read or write, atomically replacing a file of that name.
/// Returns its size. UNAVAILABLE: the disk is full or the folder cannot be written; no partial file
/// is left then.
uint64_t write_artefact(const std::filesystem::path& path, const ArtefactMetadata& metadata,
                        const std::vector<ArtefactPart>& parts);
/// Lower bound of the size of such a file.
uint64_t artefact_bytes(const std::vector<ArtefactPart>& parts);

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// A file mapped read-only. Constants are views onto it and keep it mapped. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/file_watch.h"

namespace gantry {

/// Tells one state of a file from another without reading it.
struct FileState {
  std::string text;        ///< equal texts: the same file, and nobody has written it in between
  int64_t changed_ns = 0;  ///< when it was written or renamed last, since 1970
};

enum class FileAccess : uint8_t {
  kMap,   ///< pages are read when they are touched, and shared with other processes; see watch()
  kCopy,  ///< read at once into memory of this process, whatever becomes of the file
};

class MappedFile : public std::enable_shared_from_this<MappedFile> {
 public:
  /// NOT_FOUND: it cannot be opened. INVALID_MODEL: it is no regular file, is empty, or has become
  /// shorter while it was copied. OUT_OF_MEMORY. `name`: what path() gives, where `path` has links
  /// resolved that may lead elsewhere at another time; empty: `path` itself.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path,
                                                FileAccess access = FileAccess::kMap,
                                                const std::filesystem::path& name = {});
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  /// The file, or its copy, open for reading as long as this object: another process can map it
  /// from this.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  /// The mapping in which all these bytes lie; null: they lie elsewhere.
  static std::shared_ptr<const MappedFile> find(const void* data, uint64_t size_bytes);

  [[nodiscard]] const FileState& state() const { return state_; }
  /// Tells whether others have written the file since, as long as the mapping; null: it is a copy.
  [[nodiscard]] std::shared_ptr<const FileWatch> watch() const {
    return watch_ ? std::shared_ptr<const FileWatch>(shared_from_this(), watch_.get()) : nullptr;
  }
  /// The name by which it is found again, from the root on.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// What was opened, links resolved; empty: nobody tells, without /proc.
  [[nodiscard]] const std::filesystem::path& resolved_path() const { return resolved_path_; }

 private:
  MappedFile(std::filesystem::path path, std::span<const std::byte> bytes, Descriptor descriptor,
             FileState state);
  std::filesystem::path path_;
  std::filesystem::path resolved_path_;
  std::span<const std::byte> bytes_;
  Descriptor descriptor_;
  FileState state_;
  std::unique_ptr<const FileWatch> watch_;
};

}  // namespace gantry

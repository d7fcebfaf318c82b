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

/// Identifies a state of a file without reading its content.
struct FileState {
  std::string text;        ///< equal texts: the same file, not written in between
  int64_t changed_ns = 0;  ///< last write or rename (ctime), in nanoseconds since 1970
};

enum class FileAccess : uint8_t {
  kMap,   ///< pages are read on first access and shared with other processes; see watch()
  kCopy,  ///< read at once into memory of this process; later changes of the file have no effect
};

class MappedFile : public std::enable_shared_from_this<MappedFile> {
 public:
  /// NOT_FOUND: it cannot be opened. INVALID_MODEL: it is no regular file, is empty, or was
  /// truncated while it was copied. OUT_OF_MEMORY. `name`: the result of path(), if `path` has
  /// links resolved that may change later; empty: `path` itself.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path,
                                                FileAccess access = FileAccess::kMap,
                                                const std::filesystem::path& name = {});
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  /// A descriptor of the file, or of its copy, from which another process can map it; open as long
  /// as this object.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  /// The mapped file that contains all these bytes; null: none does.
  static std::shared_ptr<const MappedFile> find(const void* data, uint64_t size_bytes);

  [[nodiscard]] const FileState& state() const { return state_; }
  /// The watch for changes of the file; keeps the mapping alive; null: this is a copy.
  [[nodiscard]] std::shared_ptr<const FileWatch> watch() const {
    return watch_ ? std::shared_ptr<const FileWatch>(shared_from_this(), watch_.get()) : nullptr;
  }
  /// The absolute path by which the file is opened again.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// The path of the opened file, links resolved; empty: unknown, as there is no /proc.
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

// SPDX-License-Identifier: Apache-2.0
// A file mapped read-only. Constants are views onto it and keep it mapped. The file must not be
// shortened while it is mapped: the system then ends the process. Any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace gantry {

class MappedFile {
 public:
  /// NOT_FOUND: it cannot be opened. INVALID_MODEL: it is no regular file, or is empty.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace gantry

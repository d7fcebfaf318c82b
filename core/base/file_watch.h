// SPDX-License-Identifier: Apache-2.0
// Watches a mapped file that a session reads in place and that others may write. A write shows in
// the mapping; the watch detects it by the file's size and time. A truncation raises SIGBUS in a
// reader; the watch handles the signal: it replaces the pages from the missing one to the end of
// the mapping by zeros, and records it. Signals for other addresses go to the previous handler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <sys/stat.h>

namespace gantry {

class FileWatch {
 public:
  /// `descriptor`: open for reading during the life of the watch. `status`: of the file before it
  /// was mapped at `bytes`. `path`: for messages. Any thread.
  FileWatch(std::string path, int descriptor, const struct stat& status,
            std::span<const std::byte> bytes);
  /// Must run before the file is unmapped.
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  /// INVALID_MODEL: since it was opened the file was written, or a mapped page could not be read.
  /// Replacing it by another file of the same name is no change. One system call; any thread.
  void require_unchanged() const;

  /// Waits until the file system's clock has passed the file's last change, so that a later change
  /// gets another time. Returns at once unless the file was changed within the last milliseconds.
  void settle() const;

 private:
  const std::string path_;
  const int descriptor_;
  const int64_t size_bytes_;
  const int64_t written_ns_;
  const int slot_;  // in the table that the signal handler reads; -1: the table is full
};

/// Replaces the mapped pages of these bytes by private copies, which keep their content whatever
/// happens to the file. False: the system has no memory for the copies. Requires a file mapping
/// with PROT_READ, and that nobody calls drop_pages() for it.
bool own_pages(std::span<const std::byte> bytes) noexcept;

}  // namespace gantry

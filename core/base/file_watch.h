// SPDX-License-Identifier: Apache-2.0
// A file whose bytes are read where they are mapped, for as long as a session lives, while others
// may write it: another content then shows in the mapping, and a file that became shorter ends the
// reader by SIGBUS. A watch tells the first by the file's size and time, and turns the second into
// zeros and a mark: the bytes from the missing page to the end of the mapping read as 0 from then
// on. Signals for other addresses go to the handler that was there before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <sys/stat.h>

namespace gantry {

class FileWatch {
 public:
  /// `descriptor`: open for reading, as long as this. `status`: of the file before it was mapped at
  /// `bytes`. `path`: for messages. Any thread.
  FileWatch(std::string path, int descriptor, const struct stat& status,
            std::span<const std::byte> bytes);
  /// Before the mapping goes.
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  /// INVALID_MODEL: the file was written, or could not be read where it was mapped, since it was
  /// opened. Replacing it by another file of its name is no change. One system call; any thread.
  void require_unchanged() const;

  /// Returns when the clock of files has moved on from the file's last change, so that a later one
  /// cannot have the same time: at once, or within some milliseconds of that change.
  void settle() const;

 private:
  const std::string path_;
  const int descriptor_;
  const int64_t size_bytes_;
  const int64_t written_ns_;
  const int slot_;  // in the table that the signal handler reads; -1: the table is full
};

/// Puts memory of the process's own in the place of the pages of these bytes: they keep what they
/// have now, whatever becomes of the file. False: the system has no memory for it. Requires a
/// mapping of a file, with PROT_READ, and that nobody gives its pages back (drop_pages).
bool own_pages(std::span<const std::byte> bytes) noexcept;

}  // namespace gantry

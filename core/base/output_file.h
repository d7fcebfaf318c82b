// SPDX-License-Identifier: Apache-2.0
// Files that are written under paths of the user's choice, which may name a device, a pipe or a
// link: those are written to, never removed or replaced. Any thread.
#pragma once

#include <filesystem>

namespace gantry {

/// Removes what a failed write has left, if it is a regular file.
inline void remove_partial_file(const std::filesystem::path& file) noexcept {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(file, ignored)) std::filesystem::remove(file, ignored);
}

/// Whether a finished file may be renamed to `file`: nothing is there, or a regular file.
inline bool is_replaceable(const std::filesystem::path& file) noexcept {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::symlink_status(file, ignored);
  return status.type() == std::filesystem::file_type::not_found ||
         status.type() == std::filesystem::file_type::regular;
}

}  // namespace gantry

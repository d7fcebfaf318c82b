// SPDX-License-Identifier: Apache-2.0
// Files that are written under paths of the user's choice, which may name a device, a pipe or a
// link. Devices and pipes are written to, never removed or replaced, and links stay. Any thread.
#pragma once

#include <filesystem>

namespace gantry {

/// Removes what a failed write has left, if it is a regular file.
inline void remove_partial_file(const std::filesystem::path& file) noexcept {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(file, ignored)) std::filesystem::remove(file, ignored);
}

/// What a finished file is renamed to: `file`, or what its links lead to. Empty: no regular file is
/// there but a device or a pipe, which has to be written to in place.
inline std::filesystem::path replaceable(const std::filesystem::path& file) {
  std::error_code failure;
  std::filesystem::path target = std::filesystem::weakly_canonical(file, failure);
  if (failure) target = file;
  const std::filesystem::file_type type = std::filesystem::status(target, failure).type();
  const bool is_file =
      type == std::filesystem::file_type::not_found || type == std::filesystem::file_type::regular;
  return is_file ? target : std::filesystem::path();
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// What is in a folder. Any thread.
#pragma once

#include <filesystem>
#include <system_error>
#include <vector>

namespace gantry {

/// The paths of a folder's entries, `.` and `..` left out, in the system's order. `error`: why it
/// could not be read to its end, cleared otherwise; what was read before is returned all the same.
/// Without memory it throws, unlike std::filesystem::directory_iterator of libstdc++, which ends
/// the process.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder,
                                               std::error_code& error);

}  // namespace gantry

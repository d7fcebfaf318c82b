// SPDX-License-Identifier: Apache-2.0
// Lists a folder. Any thread.
#pragma once

#include <filesystem>
#include <system_error>
#include <vector>

namespace gantry {

/// The paths of a folder's entries without `.` and `..`, in the system's order. `error`: why the
/// folder could not be read completely, else cleared; the entries read so far are returned. Throws
/// std::bad_alloc if there is no memory, whereas std::filesystem::directory_iterator of libstdc++
/// ends the process.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder,
                                               std::error_code& error);

}  // namespace gantry

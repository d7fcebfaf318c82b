// SPDX-License-Identifier: Apache-2.0
#include "base/folder.h"

#include <cerrno>
#include <dirent.h>
#include <memory>
#include <string_view>

namespace gantry {

std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder,
                                               std::error_code& error) {
  std::vector<std::filesystem::path> entries;
  const auto close = [](DIR* open) { closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> open(opendir(folder.c_str()), close);
  error.assign(open ? 0 : errno, std::system_category());
  while (open) {
    errno = 0;  // readdir does not change it at the end of the folder
    const dirent* entry = readdir(open.get());
    if (!entry) {
      error.assign(errno, std::system_category());
      break;
    }
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") entries.push_back(folder / name);
  }
  return entries;
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/discovery.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/folder.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;

using Place = ManifestFile::Place;

std::string why_unreadable(const std::error_code& error) {
  return error ? error.message() : std::string("neither a file nor a folder");
}

void add_files_of(const fs::path& folder, const std::string& origin, bool was_named, Place place,
                  std::vector<ManifestFile>& files) {
  std::error_code error;
  std::vector<std::string> paths;
  for (const fs::path& entry : list_folder(folder, error)) {
    if (entry.extension() == ".json") paths.push_back(entry.string());
  }
  // The default folders need not exist; an error in reading one that exists is reported.
  if (error && (was_named || error != std::errc::no_such_file_or_directory)) {
    files.push_back(
        {folder.string(), origin, "the folder cannot be read: " + error.message(), place});
  }
  std::sort(paths.begin(),
            paths.end());  // by bytes: the same order on every file system
  for (std::string& path : paths) files.push_back({std::move(path), origin, {}, place});
}

void add_named(const std::string& name, const std::string& origin, Place place,
               std::vector<ManifestFile>& files) {
  std::error_code error;
  const fs::path path = fs::absolute(name, error).lexically_normal();
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) {
    add_files_of(path, origin, true, place, files);
  } else if (fs::is_regular_file(status)) {
    files.push_back({path.string(), origin, {}, place});
  } else {
    files.push_back({path.string(), origin,
                     origin + " names it and it is not there: " + why_unreadable(error), place});
  }
}

}  // namespace

std::string_view trim_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::vector<std::string> split_list(std::string_view list, char separator) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const size_t end = std::min(list.find(separator), list.size());
    const std::string_view part = trim_blanks(list.substr(0, end));
    if (!part.empty()) parts.emplace_back(part);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

std::vector<ManifestFile> find_manifests(const std::vector<std::string>& configured,
                                         const SearchEnvironment& environment) {
  std::vector<ManifestFile> files;
  for (const std::string& name : configured)
    add_named(name, "the configuration", Place::kConfiguration, files);
  if (environment.provider_files) {
    for (const std::string& name : split_list(*environment.provider_files, ':'))
      add_named(name, "GANTRY_PROVIDER_FILES", Place::kEnvironment, files);
    return files;
  }
  for (const std::string& name : split_list(environment.add_provider_files.value_or(""), ':'))
    add_named(name, "GANTRY_ADD_PROVIDER_FILES", Place::kEnvironment, files);
  for (const std::string& folder : environment.user)
    add_files_of(folder, "user", false, Place::kUser, files);
  for (const std::string& folder : environment.site)
    add_files_of(folder, "site", false, Place::kSite, files);
  for (const std::string& folder : environment.bundled)
    add_files_of(folder, "bundled", false, Place::kBundled, files);
  return files;
}

}  // namespace gantry

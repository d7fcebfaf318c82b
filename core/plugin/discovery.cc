// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <string_view>
#include <sys/auxv.h>
#include <system_error>

namespace gantry {
namespace {

namespace fs = std::filesystem;

#ifndef GANTRY_SYSCONFDIR
#define GANTRY_SYSCONFDIR "/etc"
#endif

constexpr const char* kSuffix = "gantry/providers.d";

std::optional<std::string> variable(const char* name) {
  const char* value = secure_getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const size_t end = std::min(list.find(':'), list.size());
    if (end > 0) parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

// The XDG rules: an unset or empty variable means its default, a relative one is ignored.
std::string xdg_folder(const char* name, const std::string& below_home) {
  const std::string value = variable(name).value_or("");
  if (!value.empty() && value.front() == '/') return value;
  const std::string home = variable("HOME").value_or("");
  return home.empty() || home.front() != '/' ? std::string() : home + below_home;
}

void add_folder(std::vector<std::string>& folders, const std::string& base) {
  if (!base.empty() && base.front() == '/') folders.push_back((fs::path(base) / kSuffix).string());
}

// Beside the library that holds this function, wherever it was installed or built.
std::string own_folder() {
  static const char anchor = 0;
  Dl_info info = {};
  if (dladdr(&anchor, &info) == 0 || !info.dli_fname) return {};
  std::error_code error;
  const fs::path self = fs::canonical(info.dli_fname, error);
  return error ? std::string() : self.parent_path().string();
}

std::string why_unreadable(const std::error_code& error) {
  return error ? error.message() : std::string("neither a file nor a folder");
}

void add_files_of(const fs::path& folder, const std::string& origin, bool was_named,
                  std::vector<ManifestFile>& files) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) {
    if (was_named)
      files.push_back({folder.string(), origin, "the folder cannot be read: " + error.message()});
    return;
  }
  std::vector<std::string> paths;
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    if (entries->path().extension() == ".json") paths.push_back(entries->path().string());
  }
  std::sort(paths.begin(),
            paths.end());  // by bytes: the same order everywhere, unlike the folder's own
  for (std::string& path : paths) files.push_back({std::move(path), origin, {}});
}

void add_named(const std::string& name, const std::string& origin,
               std::vector<ManifestFile>& files) {
  std::error_code error;
  const fs::path path = fs::absolute(name, error).lexically_normal();
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) {
    add_files_of(path, origin, true, files);
  } else if (fs::is_regular_file(status)) {
    files.push_back({path.string(), origin, {}});
  } else {
    files.push_back({path.string(), origin,
                     origin + " names it and it is not there: " + why_unreadable(error)});
  }
}

}  // namespace

SearchEnvironment SearchEnvironment::of_process() {
  SearchEnvironment environment;
  environment.provider_files = variable("GANTRY_PROVIDER_FILES");
  environment.add_provider_files = variable("GANTRY_ADD_PROVIDER_FILES");
  const bool is_elevated = getauxval(AT_SECURE) != 0;
  if (!is_elevated) {
    add_folder(environment.user, xdg_folder("XDG_CONFIG_HOME", "/.config"));
    add_folder(environment.user, xdg_folder("XDG_DATA_HOME", "/.local/share"));
  }
  add_folder(environment.site, GANTRY_SYSCONFDIR);
  const std::string shares = variable("XDG_DATA_DIRS").value_or("");
  for (const std::string& base : split(shares.empty() ? "/usr/local/share:/usr/share" : shares)) {
    add_folder(environment.site, base);
  }
  add_folder(environment.bundled, own_folder());
  return environment;
}

std::vector<ManifestFile> find_manifests(const std::vector<std::string>& configured,
                                         const SearchEnvironment& environment) {
  std::vector<ManifestFile> files;
  for (const std::string& name : configured) add_named(name, "the configuration", files);
  if (environment.provider_files) {
    for (const std::string& name : split(*environment.provider_files))
      add_named(name, "GANTRY_PROVIDER_FILES", files);
    return files;
  }
  for (const std::string& name : split(environment.add_provider_files.value_or(""))) {
    add_named(name, "GANTRY_ADD_PROVIDER_FILES", files);
  }
  for (const std::string& folder : environment.user) add_files_of(folder, "user", false, files);
  for (const std::string& folder : environment.site) add_files_of(folder, "site", false, files);
  for (const std::string& folder : environment.bundled)
    add_files_of(folder, "bundled", false, files);
  return files;
}

}  // namespace gantry

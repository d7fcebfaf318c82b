// SPDX-License-Identifier: Apache-2.0
#include "plugin/requirements.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>
#include <vector>

#include "base/names.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;

// Whoever can replace the file runs code in this process. A folder that all may write is as bad,
// unless its sticky bit keeps files to their owners.
void check_writers(const fs::path& file) {
  constexpr fs::perms kEverybody = fs::perms::others_write;
  for (const fs::path& path : {file, file.parent_path()}) {
    std::error_code error;
    const fs::perms permissions = fs::status(path, error).permissions();
    const bool is_sticky = path != file && (permissions & fs::perms::sticky_bit) != fs::perms::none;
    if (!error && (permissions & kEverybody) != fs::perms::none && !is_sticky) {
      throw Error(
          Code::kUnavailable,
          path.string() +
              ": expected that only its owner and group may write it, found that everybody may; " +
              "chmod o-w " + path.string());
    }
  }
}

std::string read_file(const char* path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::set<std::string> cpu_features() {
  std::set<std::string> features;
  std::istringstream lines(read_file("/proc/cpuinfo"));
  std::string line;
  while (features.empty() && std::getline(lines, line)) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0) continue;
    std::istringstream words(line.substr(std::min(line.find(':'), line.size() - 1) + 1));
    features.insert(std::istream_iterator<std::string>(words),
                    std::istream_iterator<std::string>());
  }
  return features;
}

// The loader's cache, its variable and folders, and the provider's own folder. Asking the loader
// itself would run the library.
bool is_library_found(const std::string& name, const fs::path& own_folder) {
  std::vector<std::string> folders = {own_folder.string(), "/lib",          "/usr/lib", "/lib64",
                                      "/usr/lib64",        "/usr/local/lib"};
  if (const char* path = secure_getenv("LD_LIBRARY_PATH")) {
    std::istringstream parts(path);
    for (std::string part; std::getline(parts, part, ':');) folders.push_back(part);
  }
  const bool is_in_folder =
      std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
        std::error_code error;
        return !folder.empty() && fs::exists(fs::path(folder) / name, error);
      });
  if (is_in_folder) return true;
  // A table of names and paths; a name may be stored as the end of its path.
  const std::string cache = read_file("/etc/ld.so.cache");
  const std::string end = name + '\0';
  return cache.find('/' + end) != std::string::npos || cache.find('\0' + end) != std::string::npos;
}

bool leaves_folder(const fs::path& relative) {
  return relative.is_absolute() ||
         std::find(relative.begin(), relative.end(), fs::path("..")) != relative.end();
}

}  // namespace

std::string resolve_library(const Manifest& manifest, const std::string& manifest_file) {
  std::error_code error;
  // A link in a providers.d stands for the manifest it points to: the library lies beside that one.
  const fs::path real_manifest = fs::canonical(manifest_file, error);
  if (error) throw Error(Code::kNotFound, manifest_file + ": " + error.message());
  const fs::path folder = real_manifest.parent_path();
  const fs::path relative = manifest.library;
  const std::string rule = manifest_file +
                           ": /library: expected a path below the manifest's folder, found \"" +
                           manifest.library + "\"";
  if (leaves_folder(relative)) throw Error(Code::kInvalidArgument, rule);
  const fs::path library = fs::canonical(folder / relative, error);
  if (error) {
    throw Error(Code::kNotFound, manifest_file + ": /library: expected the file " +
                                     (folder / relative).string() + ", found: " + error.message());
  }
  if (leaves_folder(library.lexically_relative(folder))) {
    throw Error(Code::kInvalidArgument, rule + ", which links to " + library.string());
  }
  if (!fs::is_regular_file(library, error)) {
    throw Error(
        Code::kInvalidArgument,
        library.string() + ": expected a provider library, found something that is not a file");
  }
  check_writers(real_manifest);
  check_writers(library);
  return library.string();
}

void check_requirements(const Manifest& manifest, const std::string& library) {
  std::vector<std::string> missing;
  if (!manifest.required_cpu_features.empty()) {
    const std::set<std::string> features = cpu_features();
    for (const std::string& feature : manifest.required_cpu_features) {
      if (!features.count(feature)) missing.push_back("the processor feature " + feature);
    }
  }
  for (const std::string& name : manifest.required_libraries) {
    if (!is_library_found(name, fs::path(library).parent_path()))
      missing.push_back("the library " + name);
  }
  if (!missing.empty()) {
    throw Error(Code::kUnavailable, "provider \"" + manifest.name + "\" needs " +
                                        list_names(missing) + ", not found on this machine");
  }
}

}  // namespace gantry

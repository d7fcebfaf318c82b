// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/requirements.h"

#include <gantry/error.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/log.h"
#include "plugin/discovery/trusted_path.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;

bool leaves_folder(const fs::path& relative) {
  return relative.is_absolute() ||
         std::find(relative.begin(), relative.end(), fs::path("..")) != relative.end();
}

// Throws INVALID_ARGUMENT, and logs it: this may be an attack, so it must not be in a report only.
[[noreturn]] void refuse(const std::string& message) {
  log(LogLevel::kWarning, message);
  throw Error(Code::kInvalidArgument, message);
}

// The RPATH or RUNPATH folders of a library. `is_complete`: false if one of them has a variable
// that only the loader can resolve.
std::vector<std::string> named_folders(const DynamicSection& section, const std::string& origin,
                                       bool& is_complete) {
  std::vector<std::string> folders;
  std::string rest = section.runpath.empty() ? section.rpath : section.runpath;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    std::string folder = rest.substr(0, end);
    rest.erase(0, end + 1);
    for (const std::string name : {"$ORIGIN", "${ORIGIN}"}) {
      if (folder.rfind(name, 0) == 0) folder.replace(0, name.size(), origin);
    }
    if (folder.find('$') != std::string::npos) is_complete = false;
    folders.push_back(folder);
  }
  return folders;
}

// Whether the file is below the folder, links resolved.
bool is_below(const fs::path& file, const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  return !error && !leaves_folder(real.lexically_relative(fs::canonical(folder, error))) && !error;
}

// The file that a member of the manifest names.
std::string resolve_file(const std::string& pointer, const fs::path& relative,
                         const std::string& manifest_file, const TrustedWriters& writers) {
  std::error_code error;
  // A link in a providers.d folder: the library is beside the manifest to which it points.
  const fs::path real_manifest = fs::canonical(manifest_file, error);
  if (error) throw Error(Code::kNotFound, manifest_file + ": " + error.message());
  const fs::path folder = real_manifest.parent_path();
  const std::string rule = manifest_file + ": " + pointer +
                           ": expected a path below the manifest's folder, found \"" +
                           relative.string() + "\"";
  if (leaves_folder(relative)) refuse(rule);
  const fs::path library = fs::canonical(folder / relative, error);
  if (error) {
    throw Error(Code::kNotFound, manifest_file + ": " + pointer + ": expected the file " +
                                     (folder / relative).string() + ", found: " + error.message());
  }
  if (leaves_folder(library.lexically_relative(folder)))
    refuse(rule + ", which links to " + library.string());
  if (!fs::is_regular_file(library, error)) {
    throw Error(
        Code::kInvalidArgument,
        library.string() + ": expected a provider library, found something that is not a file");
  }
  check_trusted(real_manifest.string(), writers);
  check_trusted(library.string(), writers);
  const fs::path listed_in = fs::canonical(fs::path(manifest_file).parent_path(), error);
  if (!error && listed_in != folder)  // whoever can change the link can replace the manifest
    check_trusted((listed_in / fs::path(manifest_file).filename()).string(), writers);
  return library.string();
}

std::string with_hint(const Manifest& manifest, const std::string& name) {
  const auto hint = manifest.library_hints.find(name);
  return "the library " + name +
         (hint == manifest.library_hints.end() ? "" : " (" + hint->second + ")");
}

}  // namespace

std::string resolve_library(const Manifest& manifest, const std::string& manifest_file,
                            const TrustedWriters& writers) {
  return resolve_file("/library", manifest.library, manifest_file, writers);
}

std::string resolve_part(const Manifest& manifest, size_t part, const std::string& manifest_file,
                         const TrustedWriters& writers) {
  return resolve_file("/parts/" + std::to_string(part), manifest.parts[part], manifest_file,
                      writers);
}

void check_digest(const Manifest& manifest, const std::string& manifest_file,
                  const LibraryFile& library) {
  if (manifest.sha256.empty()) return;
  const std::string found = library.sha256();
  if (found != manifest.sha256) {
    refuse(manifest_file + ": /sha256: expected " + library.path() + " to have the digest " +
           manifest.sha256 + ", found " + found);
  }
}

std::vector<std::string> missing_cpu_features(const Manifest& manifest) {
  std::vector<std::string> missing;
  for (const std::string& feature : manifest.required_cpu_features) {
    if (!cpu_features().contains(feature)) missing.push_back("the processor feature " + feature);
  }
  return missing;
}

std::vector<std::string> missing_libraries(const Manifest& manifest, const std::string& library,
                                           const DynamicSection& section, Machine& machine) {
  const std::string own_folder = fs::path(library).parent_path().string();
  std::vector<std::string> missing;
  for (const std::string& name : manifest.required_libraries) {
    // Providers open these libraries themselves, and may search their own folder.
    if (machine.find_library(name, {own_folder}).empty() && loaded_library(name).empty())
      missing.push_back(with_hint(manifest, name));
  }
  bool is_complete = true;
  const std::vector<std::string> folders = named_folders(section, own_folder, is_complete);
  for (const std::string& name : section.needed) {
    if (!is_complete || !machine.find_library(name, folders).empty() ||
        !loaded_library(name).empty())
      continue;
    const std::string text = with_hint(manifest, name);
    if (std::find(missing.begin(), missing.end(), text) == missing.end()) missing.push_back(text);
  }
  return missing;
}

std::vector<std::string> missing_behind(const std::string& library, Machine& machine) {
  struct Open {
    std::string path;
    std::vector<std::string> inherited;  // RPATHs of the libraries that need it
  };
  std::vector<std::string> missing;
  std::set<std::string> seen = {library};
  for (std::vector<Open> open = {{library, {}}}; !open.empty();) {
    const Open next = std::move(open.back());
    open.pop_back();
    const LibraryFile file(next.path);
    check_elf(file);
    const DynamicSection section = read_dynamic_section(file);
    bool is_complete = true;
    std::vector<std::string> folders =
        named_folders(section, fs::path(next.path).parent_path().string(), is_complete);
    std::vector<std::string> handed_on = next.inherited;
    if (section.runpath.empty()) {
      folders.insert(folders.end(), next.inherited.begin(), next.inherited.end());
      handed_on = folders;
    }
    for (const std::string& name : section.needed) {
      if (!is_complete || !loaded_library(name).empty()) continue;
      std::error_code error;
      const fs::path path = fs::canonical(machine.find_library(name, folders), error);
      if (error) {
        std::string text = "the library ";
        missing.push_back(text.append(name).append(", which ").append(next.path) +
                          " is linked with");
      } else if (seen.insert(path.string()).second) {
        open.push_back({path.string(), handed_on});
      }
    }
  }
  return missing;
}

std::vector<std::string> library_clashes(const std::string& library,
                                         const DynamicSection& section) {
  std::vector<std::string> clashes;
  bool is_complete = true;
  const std::vector<std::string> folders =
      named_folders(section, fs::path(library).parent_path().string(), is_complete);
  for (const std::string& name : section.needed) {
    const std::string loaded = loaded_library(name);
    if (loaded.empty()) continue;
    for (const std::string& folder : folders) {
      const std::string own = (fs::path(folder) / name).string();
      const FileIdentity identity = FileIdentity::of(own);
      if (identity == FileIdentity()) continue;
      if (!identity.is_same_file(FileIdentity::of(loaded))) {
        std::string clash = library;
        clash.append(" brings ").append(own).append(", but the process has ").append(loaded);
        clashes.push_back(clash + " of that name already and the provider gets that one.");
      }
      break;
    }
  }
  return clashes;
}

std::vector<BundledLibrary> bundled_libraries(const std::string& library) {
  std::vector<BundledLibrary> bundled;
  const std::string home = fs::path(library).parent_path().string();
  std::set<std::string> seen = {library};
  for (std::vector<std::string> open = {library}; !open.empty();) {
    const LibraryFile file(open.back());
    open.pop_back();
    check_elf(file);
    const DynamicSection section = read_dynamic_section(file);
    bool is_complete = true;
    const std::vector<std::string> folders =
        named_folders(section, fs::path(file.path()).parent_path().string(), is_complete);
    for (const std::string& name : section.needed) {
      for (const std::string& folder : folders) {
        std::error_code error;
        const fs::path path = fs::canonical(fs::path(folder) / name, error);
        if (error) continue;
        if (is_below(path, home) && seen.insert(path.string()).second) {
          bundled.push_back({name, path.string()});
          open.push_back(path.string());
        }
        break;
      }
    }
  }
  return bundled;
}

}  // namespace gantry

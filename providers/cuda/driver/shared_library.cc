// SPDX-License-Identifier: Apache-2.0
#include "driver/shared_library.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <system_error>

namespace gantry::cuda {
namespace {

namespace fs = std::filesystem;

// nvidia/<package>/lib beside the folders that lead to the provider.
std::vector<std::string> package_folders(std::string_view provider_path) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (fs::path at = fs::path(provider_path).parent_path(); at.has_relative_path();
       at = at.parent_path()) {
    for (const fs::directory_entry& package : fs::directory_iterator(at / "nvidia", ignored)) {
      const fs::path folder = package.path() / "lib";
      if (fs::is_directory(folder, ignored)) found.push_back(folder.string());
    }
  }
  std::sort(found.begin(), found.end());  // directory order is unspecified
  found.emplace_back("/usr/local/cuda/lib64");
  return found;
}

}  // namespace

void* SharedLibrary::address_of(const char* symbol) const { return dlsym(handle_, symbol); }

LibrarySearch::LibrarySearch(std::vector<std::string> folders, std::string_view provider_path)
    : folders_(std::move(folders)), package_folders_(package_folders(provider_path)) {
  if (const char* home = secure_getenv("CUDA_HOME"); home && *home) {
    folders_.push_back(std::string(home) + "/lib64");
    folders_.push_back(std::string(home) + "/lib");
  }
}

void LibrarySearch::open_beside(const SharedLibrary& other, const std::string& name) const {
  const size_t slash = other.path().rfind('/');
  if (slash != std::string::npos &&
      dlopen((other.path().substr(0, slash + 1) + name).c_str(), RTLD_NOW | RTLD_LOCAL))
    return;
  static_cast<void>(open({name}));
}

SharedLibrary LibrarySearch::open(const std::vector<std::string>& names) const {
  std::string reason;  // why an existing file does not open, or else the first name
  bool is_there = false;
  const auto try_one = [&](const std::string& path) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle && (reason.empty() || (is_there && path.front() == '/'))) reason = dlerror();
    return handle;
  };
  std::string path;
  const auto try_folder = [&](const std::string& folder, const std::string& name) -> void* {
    path = folder;
    path += "/";
    path += name;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return nullptr;
    is_there = true;
    return try_one(path);
  };
  for (const std::string& name : names) {
    for (const std::string& folder : folders_) {
      if (void* handle = try_folder(folder, name)) return {handle, path};
    }
    if (void* handle = try_one(name)) return {handle, name};
    for (const std::string& folder : package_folders_) {
      if (void* handle = try_folder(folder, name)) return {handle, path};
    }
  }
  return SharedLibrary(reason);
}

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// Finds and opens NVIDIA's libraries at run time. A library stays open until the process ends,
// because they do not support being closed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry::cuda {

// Each library's functions are listed once, as a macro of rows X(member, exported name, result,
// (parameters)). GANTRY_CUDA_MEMBER makes a row a member of a function table. GANTRY_CUDA_FIND
// looks it up in `library` and sets `missing` to the name of the first row that is not exported.
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator, not an expression
#define GANTRY_CUDA_MEMBER(member, symbol, result, parameters) result(*member) parameters = nullptr;
#define GANTRY_CUDA_FIND(member, symbol, result, parameters) \
  if (!missing && !library.find(#symbol, member)) missing = #symbol;

class SharedLibrary {
 public:
  explicit SharedLibrary(std::string reason) : reason_(std::move(reason)) {}
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  [[nodiscard]] bool is_open() const { return handle_ != nullptr; }
  /// Why it could not be opened.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  /// The name or path by which it was opened.
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Looks an exported function up; false: the library does not export it.
  template <class Function>
  bool find(const char* symbol, Function*& out_function) const {
    out_function = reinterpret_cast<Function*>(address_of(symbol));
    return out_function != nullptr;
  }

 private:
  [[nodiscard]] void* address_of(const char* symbol) const;

  void* handle_ = nullptr;
  std::string path_;
  std::string reason_;
};

/// Where libraries are searched, in this order: the folders of the option "libraries"; lib64 and
/// lib of CUDA_HOME, if the environment is trusted; the dynamic linker's search; nvidia/*/lib
/// beside any folder above the provider, where NVIDIA's Python packages install; and
/// /usr/local/cuda.
class LibrarySearch {
 public:
  LibrarySearch(std::vector<std::string> folders, std::string_view provider_path);

  /// Opens `name` beside a library that was opened by its path, else anywhere. For a library that
  /// another one opens by its bare name, which works only if it is loaded already.
  void open_beside(const SharedLibrary& other, const std::string& name) const;
  /// Opens the first of these names that can be opened.
  [[nodiscard]] SharedLibrary open(const std::vector<std::string>& names) const;
  /// The search folders that exist.
  [[nodiscard]] const std::vector<std::string>& folders() const { return folders_; }

 private:
  std::vector<std::string> folders_;          // searched before the dynamic linker's
  std::vector<std::string> package_folders_;  // searched after it
};

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// Libraries of NVIDIA's, opened at run time where they are found. An opened library stays open as
// long as the process, as theirs are not made to be closed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gantry::cuda {

// What the provider uses of a library is listed once, by a macro of rows
// X(member, exported name, result, (parameters)); these two make of a row a member of a table of
// functions, and its search in `library`, which leaves in `missing` the name of the first row that
// is not exported.
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
  /// Name or path with which it was opened.
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Sets `out_function` to what the library exports under that name; false: nothing.
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

/// Where libraries are looked for, in this order: the folders of the option "libraries"; lib64 and
/// lib of CUDA_HOME, if the environment has it and may be believed; where the dynamic linker looks;
/// the folders nvidia/*/lib beside any folder above the provider, as Python packages have them; and
/// /usr/local/cuda, where the toolkit installs itself.
class LibrarySearch {
 public:
  LibrarySearch(std::vector<std::string> folders, std::string_view provider_path);

  /// The library `name` beside one that was opened by its path, else wherever it is found. For what
  /// a library opens by its bare name, which the dynamic linker knows only if it is open already.
  void open_beside(const SharedLibrary& other, const std::string& name) const;
  /// The first of these names that opens.
  [[nodiscard]] SharedLibrary open(const std::vector<std::string>& names) const;
  /// Folders that exist, for libraries that bring files of their own.
  [[nodiscard]] const std::vector<std::string>& folders() const { return folders_; }

 private:
  std::vector<std::string> folders_;          // before the dynamic linker's
  std::vector<std::string> package_folders_;  // after them
};

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// A provider's library as a file: opened for reading once, so that its identity, digest, note and
// dependencies are of the same bytes. Runs none of its code. One thread.
#pragma once

#include <cstdint>
#include <elf.h>
#include <string>
#include <vector>

namespace gantry {

/// The symbol that a provider's library exports.
constexpr const char* kEntryName = "gantry_provider_v1";

/// Identifies a state of a file without reading its content.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size_bytes = 0;
  int64_t modified_ns = 0;

  bool operator==(const FileIdentity&) const = default;
  [[nodiscard]] bool is_same_file(const FileIdentity& other) const {
    return device == other.device && inode == other.inode;
  }
  /// The current identity of a path; all zero if there is no such file.
  static FileIdentity of(const std::string& path);
};

class LibraryFile {
 public:
  /// NOT_FOUND: the file cannot be read. INVALID_ARGUMENT: a link, a folder, a device.
  explicit LibraryFile(std::string path);
  ~LibraryFile();
  LibraryFile(const LibraryFile&) = delete;
  LibraryFile& operator=(const LibraryFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const FileIdentity& identity() const { return identity_; }
  /// SHA-256 of the content: 64 lower-case hex digits.
  [[nodiscard]] std::string sha256() const;

  /// INVALID_ARGUMENT: the file is too short.
  void read(uint64_t offset, void* target, uint64_t size_bytes) const;
  template <class T>
  [[nodiscard]] T read(uint64_t offset) const {
    T value;
    read(offset, &value, sizeof(value));
    return value;
  }
  /// Throws INVALID_ARGUMENT: expected a provider library, found `what`.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  FileIdentity identity_;
};

/// The entries of a library's dynamic section.
struct DynamicSection {
  std::string soname;
  std::vector<std::string> needed;  ///< names of libraries
  std::string rpath;                ///< folders separated by ':'; ignored if there is a runpath
  std::string runpath;
  bool has_text_relocations = false;  ///< the loader has to write into its code (DT_TEXTREL)
};

/// ABI_MISMATCH: built for another processor. INVALID_ARGUMENT: not an ELF shared library.
void check_elf(const LibraryFile& file);
/// INVALID_ARGUMENT: truncated. Requires check_elf.
std::vector<Elf64_Phdr> read_program_headers(const LibraryFile& file);
/// INVALID_ARGUMENT: truncated. Requires check_elf. Without a dynamic section: empty.
DynamicSection read_dynamic_section(const LibraryFile& file);

}  // namespace gantry

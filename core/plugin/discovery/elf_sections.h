// SPDX-License-Identifier: Apache-2.0
// The ELF sections of a library file: headers, tables, names. The file is not trusted: an offset
// outside the file is INVALID_ARGUMENT or absent. One thread.
#pragma once

#include <cstdint>
#include <elf.h>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/discovery/library_file.h"

namespace gantry {

class ElfSections {
 public:
  /// Requires check_elf(file); `file` is borrowed. INVALID_ARGUMENT: truncated. A file without
  /// section headers has no sections.
  explicit ElfSections(const LibraryFile& file);

  /// The first section of that name or type; null: none.
  [[nodiscard]] const Elf64_Shdr* named(std::string_view name) const;
  [[nodiscard]] const Elf64_Shdr* of_type(uint32_t type) const;
  /// All of a type, in the file's order.
  [[nodiscard]] std::vector<const Elf64_Shdr*> all_of_type(uint32_t type) const;

  /// The complete entries of a section. INVALID_ARGUMENT: truncated.
  template <class T>
  [[nodiscard]] std::vector<T> entries(const Elf64_Shdr& section) const {
    if (section.sh_size > file_.identity().size_bytes) file_.fail("a truncated ELF file");
    std::vector<T> result(section.sh_size / sizeof(T));
    file_.read(section.sh_offset, result.data(), result.size() * sizeof(T));
    return result;
  }
  /// The string table to which a section links.
  [[nodiscard]] std::string names_of(const Elf64_Shdr& section) const;

 private:
  [[nodiscard]] std::string bytes(const Elf64_Shdr& section) const;

  const LibraryFile& file_;
  std::vector<Elf64_Shdr> sections_;
  std::string names_;
};

/// The string at `offset` of a string table; empty if the offset is outside.
std::string text_at(const std::string& table, uint64_t offset);

}  // namespace gantry

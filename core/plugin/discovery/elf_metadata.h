// SPDX-License-Identifier: Apache-2.0
// ELF metadata of a library beyond its dynamic section, for `gantry provider lint`: exported
// symbols, required symbol versions, initialisers, executable stack, text relocations. Reads the
// file and runs none of its code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/discovery/library_file.h"

namespace gantry {

/// An exported symbol.
struct ElfExport {
  std::string name;
  bool is_unique = false;  ///< STB_GNU_UNIQUE: one definition in the process
};

/// A symbol version that a library requires of another library, as GLIBC_2.34 of libc.so.6.
struct ElfVersion {
  std::string library;
  std::string version;
  std::vector<std::string> symbols;  ///< those of that version, in the file's order
};

struct ElfMetadata {
  DynamicSection dynamic;
  std::vector<ElfExport> exports;
  std::vector<ElfVersion> versions;
  /// Functions that run when the library is opened, without those of the compiler's start files:
  /// names, or addresses if the library is stripped.
  std::vector<std::string> initialisers;
  bool has_executable_stack = false;  ///< by its PT_GNU_STACK header, or because it has none
  bool has_text_relocations = false;
};

/// Requires check_elf(file). INVALID_ARGUMENT: truncated, or tables that contradict each other.
ElfMetadata read_elf_metadata(const LibraryFile& file);

}  // namespace gantry

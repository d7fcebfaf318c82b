// SPDX-License-Identifier: Apache-2.0
// What a library file says of itself beyond its dynamic section, for the checks of
// `gantry provider lint`: symbols, versions it needs, code that runs when it is opened, its wishes
// for memory protection. Reads the file, runs nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/discovery/library_file.h"

namespace gantry {

/// A symbol that a library shows to the process that opens it.
struct ElfExport {
  std::string name;
  bool is_unique = false;  ///< STB_GNU_UNIQUE: one in the process, whatever library defines it
};

/// A version of a symbol that a library needs of another one, as libc.so.6 and GLIBC_2.34.
struct ElfVersion {
  std::string library;
  std::string version;
  std::vector<std::string> symbols;  ///< those of that version, in the file's order
};

struct ElfFacts {
  DynamicSection dynamic;
  std::vector<ElfExport> exports;
  std::vector<ElfVersion> versions;
  /// Functions that run when the library is opened, without those that every compiler puts there:
  /// names, or addresses if the library was stripped of names.
  std::vector<std::string> initialisers;
  bool has_executable_stack = false;  ///< asked for, or (without a header for it) granted
  bool has_text_relocations = false;
};

/// Requires check_elf(file). INVALID_ARGUMENT: truncated, or tables that contradict each other.
ElfFacts read_elf_facts(const LibraryFile& file);

}  // namespace gantry

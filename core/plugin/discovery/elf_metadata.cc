// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/elf_metadata.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <map>
#include <sstream>

#include "plugin/discovery/elf_sections.h"

namespace gantry {
namespace {

// Functions that the compiler's own start files put into every library.
constexpr const char* kCompilersOwn[] = {"frame_dummy", "__do_init"};

std::vector<ElfExport> read_exports(const ElfSections& sections) {
  const Elf64_Shdr* table = sections.of_type(SHT_DYNSYM);
  if (!table) return {};
  const std::string names = sections.names_of(*table);
  std::vector<ElfExport> exports;
  for (const Elf64_Sym& symbol : sections.entries<Elf64_Sym>(*table)) {
    const unsigned binding = ELF64_ST_BIND(symbol.st_info);
    const unsigned visibility = ELF64_ST_VISIBILITY(symbol.st_other);
    // Absolute symbols are the names of the library's own versions.
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS || binding == STB_LOCAL ||
        visibility == STV_HIDDEN || visibility == STV_INTERNAL)
      continue;
    exports.push_back({text_at(names, symbol.st_name), binding == STB_GNU_UNIQUE});
  }
  return exports;
}

// The symbols of each version number.
std::map<uint16_t, std::vector<std::string>> symbols_by_version(const ElfSections& sections) {
  const Elf64_Shdr* numbers = sections.of_type(SHT_GNU_versym);
  const Elf64_Shdr* table = sections.of_type(SHT_DYNSYM);
  std::map<uint16_t, std::vector<std::string>> result;
  if (!numbers || !table) return result;
  const std::string names = sections.names_of(*table);
  const auto symbols = sections.entries<Elf64_Sym>(*table);
  const auto versions = sections.entries<uint16_t>(*numbers);
  constexpr uint16_t kHidden = 0x8000;
  for (size_t i = 0; i < std::min(symbols.size(), versions.size()); ++i) {
    const auto number = static_cast<uint16_t>(versions[i] & ~kHidden);
    result[number].push_back(text_at(names, symbols[i].st_name));
  }
  return result;
}

// An entry of a chain of structs at arbitrary offsets of a section.
template <class T>
bool read_at(const std::vector<char>& content, uint64_t offset, T& entry) {
  if (offset > content.size() || content.size() - offset < sizeof(T)) return false;
  std::memcpy(&entry, content.data() + offset, sizeof(T));
  return true;
}

std::vector<ElfVersion> read_versions(const ElfSections& sections) {
  const Elf64_Shdr* section = sections.of_type(SHT_GNU_verneed);
  if (!section) return {};
  const std::string names = sections.names_of(*section);
  const auto content = sections.entries<char>(*section);
  const auto symbols = symbols_by_version(sections);
  std::vector<ElfVersion> versions;
  Elf64_Verneed library = {};
  for (uint64_t at = 0; read_at(content, at, library); at += library.vn_next) {
    Elf64_Vernaux version = {};
    for (uint64_t of = at + library.vn_aux; read_at(content, of, version); of += version.vna_next) {
      const auto found = symbols.find(version.vna_other);
      versions.push_back({text_at(names, library.vn_file), text_at(names, version.vna_name),
                          found == symbols.end() ? std::vector<std::string>() : found->second});
      if (version.vna_next == 0) break;
    }
    if (library.vn_next == 0) break;
  }
  return versions;
}

std::map<uint64_t, std::string> function_names(const ElfSections& sections) {
  std::map<uint64_t, std::string> result;
  for (const Elf64_Shdr* table : sections.all_of_type(SHT_SYMTAB)) {
    const std::string names = sections.names_of(*table);
    for (const Elf64_Sym& symbol : sections.entries<Elf64_Sym>(*table)) {
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
        result.emplace(symbol.st_value, text_at(names, symbol.st_name));
    }
  }
  return result;
}

// The pointers that the loader will write into `section`, from its relocations.
std::vector<uint64_t> relocated_pointers(const ElfSections& sections, const Elf64_Shdr& section) {
  auto pointers = sections.entries<uint64_t>(section);
  for (const Elf64_Shdr* table : sections.all_of_type(SHT_RELA)) {
    for (const Elf64_Rela& entry : sections.entries<Elf64_Rela>(*table)) {
      if (entry.r_offset < section.sh_addr) continue;
      const uint64_t index = (entry.r_offset - section.sh_addr) / sizeof(uint64_t);
      if (index < pointers.size() && entry.r_addend != 0)
        pointers[index] = static_cast<uint64_t>(entry.r_addend);
    }
  }
  return pointers;
}

std::vector<std::string> read_initialisers(const ElfSections& sections) {
  const auto names = function_names(sections);
  std::vector<std::string> initialisers;
  bool has_compilers_own = false;
  for (const Elf64_Shdr* section : sections.all_of_type(SHT_INIT_ARRAY)) {
    for (const uint64_t pointer : relocated_pointers(sections, *section)) {
      const auto found = names.find(pointer);
      if (found == names.end()) {
        std::ostringstream address;
        address << "the function at 0x" << std::hex << pointer;
        initialisers.push_back(address.str());
        continue;
      }
      const bool is_compilers = std::find(std::begin(kCompilersOwn), std::end(kCompilersOwn),
                                          found->second) != std::end(kCompilersOwn);
      has_compilers_own = has_compilers_own || is_compilers;
      if (!is_compilers) initialisers.push_back(found->second);
    }
  }
  // Stripped: the first function is the compiler's, as in every library.
  if (names.empty() && !has_compilers_own && !initialisers.empty())
    initialisers.erase(initialisers.begin());
  return initialisers;
}

}  // namespace

ElfMetadata read_elf_metadata(const LibraryFile& file) {
  ElfMetadata metadata;
  metadata.dynamic = read_dynamic_section(file);
  const ElfSections sections(file);
  metadata.exports = read_exports(sections);
  metadata.versions = read_versions(sections);
  metadata.initialisers = read_initialisers(sections);
  bool has_stack_header = false;
  for (const Elf64_Phdr& segment : read_program_headers(file)) {
    if (segment.p_type != PT_GNU_STACK) continue;
    has_stack_header = true;
    metadata.has_executable_stack = (segment.p_flags & PF_X) != 0;
  }
  if (!has_stack_header) metadata.has_executable_stack = true;
  metadata.has_text_relocations = metadata.dynamic.has_text_relocations;
  return metadata;
}

}  // namespace gantry

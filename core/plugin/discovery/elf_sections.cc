// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/elf_sections.h"

namespace gantry {

ElfSections::ElfSections(const LibraryFile& file) : file_(file) {
  const auto header = file.read<Elf64_Ehdr>(0);
  if (header.e_shoff == 0 || header.e_shnum == 0) return;
  if (header.e_shentsize != sizeof(Elf64_Shdr))
    file.fail("an ELF file with section headers of another size");
  if (header.e_shstrndx >= header.e_shnum) file.fail("an ELF file without section names");
  sections_.resize(header.e_shnum);
  file.read(header.e_shoff, sections_.data(), sections_.size() * sizeof(Elf64_Shdr));
  names_ = bytes(sections_[header.e_shstrndx]);
}

const Elf64_Shdr* ElfSections::named(std::string_view name) const {
  for (const Elf64_Shdr& section : sections_)
    if (text_at(names_, section.sh_name) == name) return &section;
  return nullptr;
}

const Elf64_Shdr* ElfSections::of_type(uint32_t type) const {
  for (const Elf64_Shdr& section : sections_)
    if (section.sh_type == type) return &section;
  return nullptr;
}

std::vector<const Elf64_Shdr*> ElfSections::all_of_type(uint32_t type) const {
  std::vector<const Elf64_Shdr*> found;
  for (const Elf64_Shdr& section : sections_)
    if (section.sh_type == type) found.push_back(&section);
  return found;
}

std::string ElfSections::names_of(const Elf64_Shdr& section) const {
  return section.sh_link < sections_.size() ? bytes(sections_[section.sh_link]) : std::string();
}

std::string ElfSections::bytes(const Elf64_Shdr& section) const {
  const std::vector<char> content = entries<char>(section);
  return {content.begin(), content.end()};
}

std::string text_at(const std::string& table, uint64_t offset) {
  return offset < table.size() ? std::string(table.c_str() + offset) : std::string();
}

}  // namespace gantry

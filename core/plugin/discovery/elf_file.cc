// SPDX-License-Identifier: Apache-2.0
#include <gantry/error.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <elf.h>

#include "plugin/discovery/library_file.h"

namespace gantry {
namespace {

static_assert(sizeof(void*) == 8, "the reader knows 64-bit ELF files, as the host is one");

#if defined(__x86_64__)
constexpr uint16_t kHostMachine = EM_X86_64;
constexpr const char* kHostMachineName = "x86-64";
#elif defined(__aarch64__)
constexpr uint16_t kHostMachine = EM_AARCH64;
constexpr const char* kHostMachineName = "AArch64";
#else
#error "name the ELF machine of this processor here"
#endif

// More than any library has; a larger count is from a damaged file.
constexpr uint64_t kMostEntries = 1 << 16;

// Converts an address of the dynamic section to a file offset, by the segments.
uint64_t file_offset(const LibraryFile& file, const std::vector<Elf64_Phdr>& segments,
                     uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  }
  file.fail("an ELF file whose dynamic section points out of it");
}

}  // namespace

void check_elf(const LibraryFile& file) {
  std::array<unsigned char, EI_NIDENT> identity = {};
  const uint64_t size = file.identity().size_bytes;
  if (size < identity.size())
    file.fail("a file of " + std::to_string(size) + " bytes that is not an ELF file");
  file.read(0, identity.data(), identity.size());
  if (std::memcmp(identity.data(), ELFMAG, SELFMAG) != 0)
    file.fail("a file that is not an ELF file");
  const std::string wrong_machine =
      file.path() + ": expected a library for 64-bit " + kHostMachineName + ", found one for ";
  if (identity[EI_CLASS] != ELFCLASS64 || identity[EI_DATA] != ELFDATA2LSB) {
    throw Error(Code::kAbiMismatch,
                wrong_machine + (identity[EI_CLASS] == ELFCLASS32 ? "a 32-bit processor"
                                                                  : "another byte order"));
  }
  const auto header = file.read<Elf64_Ehdr>(0);
  if (header.e_machine != kHostMachine) {
    throw Error(Code::kAbiMismatch,
                wrong_machine + "ELF machine " + std::to_string(header.e_machine));
  }
  if (header.e_type != ET_DYN) {
    file.fail("an ELF file that is not a shared library (type " + std::to_string(header.e_type) +
              ")");
  }
}

std::vector<Elf64_Phdr> read_program_headers(const LibraryFile& file) {
  const auto header = file.read<Elf64_Ehdr>(0);
  if (header.e_phnum == 0) return {};
  if (header.e_phentsize != sizeof(Elf64_Phdr))
    file.fail("an ELF file with program headers of another size");
  std::vector<Elf64_Phdr> headers(header.e_phnum);
  file.read(header.e_phoff, headers.data(), headers.size() * sizeof(Elf64_Phdr));
  return headers;
}

DynamicSection read_dynamic_section(const LibraryFile& file) {
  const std::vector<Elf64_Phdr> segments = read_program_headers(file);
  const auto found = std::find_if(segments.begin(), segments.end(), [](const Elf64_Phdr& segment) {
    return segment.p_type == PT_DYNAMIC;
  });
  if (found == segments.end()) return {};
  const uint64_t count = found->p_filesz / sizeof(Elf64_Dyn);
  if (count > kMostEntries) file.fail("an ELF file with a dynamic section of impossible size");
  std::vector<Elf64_Dyn> entries(count);
  file.read(found->p_offset, entries.data(), count * sizeof(Elf64_Dyn));
  entries.erase(std::find_if(entries.begin(), entries.end(),
                             [](const Elf64_Dyn& entry) { return entry.d_tag == DT_NULL; }),
                entries.end());
  const auto value = [&](int64_t tag) -> uint64_t {
    for (const Elf64_Dyn& entry : entries)
      if (entry.d_tag == tag) return entry.d_un.d_val;
    return 0;
  };
  const uint64_t table_size = value(DT_STRSZ);
  if (table_size == 0 || value(DT_STRTAB) == 0) return {};
  if (table_size > file.identity().size_bytes) file.fail("a truncated ELF file");
  std::string table(table_size, '\0');
  file.read(file_offset(file, segments, value(DT_STRTAB)), table.data(), table_size);
  const auto text = [&](uint64_t offset) {
    return offset < table.size() ? std::string(table.c_str() + offset) : std::string();
  };
  DynamicSection section;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NEEDED) section.needed.push_back(text(entry.d_un.d_val));
    if (entry.d_tag == DT_SONAME) section.soname = text(entry.d_un.d_val);
    if (entry.d_tag == DT_RPATH) section.rpath = text(entry.d_un.d_val);
    if (entry.d_tag == DT_RUNPATH) section.runpath = text(entry.d_un.d_val);
    if (entry.d_tag == DT_TEXTREL ||
        (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_TEXTREL) != 0))
      section.has_text_relocations = true;
  }
  return section;
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
#include "plugin/note.h"

#include <gantry/error.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace gantry {
namespace {

static_assert(sizeof(void*) == 8, "the note reader knows 64-bit ELF files, as the host is one");

#if defined(__x86_64__)
constexpr uint16_t kHostMachine = EM_X86_64;
constexpr const char* kHostMachineName = "x86-64";
#elif defined(__aarch64__)
constexpr uint16_t kHostMachine = EM_AARCH64;
constexpr const char* kHostMachineName = "AArch64";
#else
#error "name the ELF machine of this processor here"
#endif

constexpr const char* kSection = ".note.gantry";

// A file read in pieces: a library may be large, and its headers are all that is wanted.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path)
      : path_(path), stream_(path, std::ios::binary | std::ios::ate) {
    if (!stream_)
      throw Error(Code::kNotFound,
                  path + ": the library cannot be read: " + std::generic_category().message(errno));
    size_ = static_cast<uint64_t>(stream_.tellg());
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Code::kInvalidArgument, path_ + ": expected a provider library, found " + what);
  }
  [[nodiscard]] uint64_t size() const { return size_; }

  void read(uint64_t offset, void* target, uint64_t bytes) {
    if (offset > size_ || bytes > size_ - offset)
      fail("a truncated ELF file of " + std::to_string(size_) + " bytes");
    stream_.seekg(static_cast<std::streamoff>(offset));
    stream_.read(static_cast<char*>(target), static_cast<std::streamsize>(bytes));
    if (!stream_) fail("a file that cannot be read to its end");
  }
  template <class T>
  T read(uint64_t offset) {
    T value;
    read(offset, &value, sizeof(value));
    return value;
  }

 private:
  const std::string& path_;
  std::ifstream stream_;
  uint64_t size_ = 0;
};

Elf64_Ehdr read_header(ElfFile& file, const std::string& path) {
  std::array<unsigned char, EI_NIDENT> identity = {};
  if (file.size() < identity.size())
    file.fail("a file of " + std::to_string(file.size()) + " bytes that is not an ELF file");
  file.read(0, identity.data(), identity.size());
  if (std::memcmp(identity.data(), ELFMAG, SELFMAG) != 0)
    file.fail("a file that is not an ELF file");
  const std::string wrong_machine =
      path + ": expected a library for 64-bit " + kHostMachineName + ", found one for ";
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
  if (header.e_type != ET_DYN)
    file.fail("an ELF file that is not a shared library (type " + std::to_string(header.e_type) +
              ")");
  return header;
}

// The section's header; its name is compared within the string table only.
bool find_section(ElfFile& file, const Elf64_Ehdr& header, Elf64_Shdr& found) {
  if (header.e_shoff == 0 || header.e_shnum == 0) return false;
  if (header.e_shentsize != sizeof(Elf64_Shdr))
    file.fail("an ELF file with section headers of another size");
  if (header.e_shstrndx >= header.e_shnum) file.fail("an ELF file without section names");
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  file.read(header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr));
  const Elf64_Shdr& names = sections[header.e_shstrndx];
  std::array<char, sizeof(".note.gantry")> name = {};
  for (const Elf64_Shdr& section : sections) {
    if (names.sh_size < name.size() || section.sh_name > names.sh_size - name.size()) continue;
    file.read(names.sh_offset + section.sh_name, name.data(), name.size());
    if (std::memcmp(name.data(), kSection, name.size()) == 0) {
      found = section;
      return true;
    }
  }
  return false;
}

const char* sanitizer_name(uint32_t sanitizer) {
  switch (sanitizer) {
    case 0:
      return "no sanitizer";
    case 1:
      return "AddressSanitizer";
    case 2:
      return "ThreadSanitizer";
    default:
      return "an unknown sanitizer";
  }
}

}  // namespace

gantry_note read_note(const std::string& library) {
  ElfFile file(library);
  const Elf64_Ehdr header = read_header(file, library);
  Elf64_Shdr section = {};
  if (!find_section(file, header, section)) {
    file.fail(
        "a library without the note section .note.gantry (GANTRY_PROVIDER_NOTE in one of its "
        "source files makes it)");
  }
  constexpr uint64_t kKnown = offsetof(gantry_note, sanitizer) + sizeof(gantry_note::sanitizer);
  if (section.sh_size < kKnown) file.fail("a library whose gantry note is cut short");
  gantry_note note = {};
  file.read(section.sh_offset, &note, sizeof(note) <= section.sh_size ? sizeof(note) : kKnown);
  if (note.name_bytes != sizeof("gantry") || note.type != 1 ||
      std::memcmp(note.name, "gantry", sizeof("gantry")) != 0) {
    file.fail("a library whose section .note.gantry holds something else");
  }
  return note;
}

void check_note(const gantry_note& note, const std::string& library) {
  const auto fail = [&](const std::string& what) {
    throw Error(Code::kAbiMismatch, library + ": " + what);
  };
  if (note.major != GANTRY_ABI_MAJOR) {
    fail("expected the provider boundary of major version " + std::to_string(GANTRY_ABI_MAJOR) +
         ", found " + std::to_string(note.major) + "; " +
         (note.major > GANTRY_ABI_MAJOR ? "upgrade gantry"
                                        : "rebuild the provider with this gantry's SDK"));
  }
  if (note.layout != GANTRY_ABI_LAYOUT) {
    fail("built for another layout of provider.h (expected " + std::to_string(GANTRY_ABI_LAYOUT) +
         ", found " + std::to_string(note.layout) +
         "); rebuild the provider with this gantry's SDK");
  }
  // The other way round works: a host with a sanitizer opens plain libraries, and just sees less of
  // them.
  if (note.sanitizer != 0 && note.sanitizer != GANTRY_SANITIZER) {
    fail(std::string("built with ") + sanitizer_name(note.sanitizer) + ", the host with " +
         sanitizer_name(GANTRY_SANITIZER) + ", which would end the process; build both alike");
  }
}

}  // namespace gantry

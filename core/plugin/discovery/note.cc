// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/note.h"

#include <gantry/error.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "plugin/discovery/elf_sections.h"

namespace gantry {
namespace {

constexpr const char* kSection = ".note.gantry";

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

gantry_note read_note(const LibraryFile& file) {
  check_elf(file);
  const ElfSections sections(file);
  const Elf64_Shdr* section = sections.named(kSection);
  if (!section) {
    file.fail(
        "a library without the note section .note.gantry (GANTRY_PROVIDER_NOTE in one of its "
        "source files makes it)");
  }
  constexpr uint64_t kKnown = offsetof(gantry_note, sanitizer) + sizeof(gantry_note::sanitizer);
  if (section->sh_size < kKnown) file.fail("a library whose gantry note is cut short");
  gantry_note note = {};
  file.read(section->sh_offset, &note, sizeof(note) <= section->sh_size ? sizeof(note) : kKnown);
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
  // The reverse works: a host with a sanitizer can open libraries without one.
  if (note.sanitizer != 0 && note.sanitizer != GANTRY_SANITIZER) {
    fail(std::string("built with ") + sanitizer_name(note.sanitizer) + ", the host with " +
         sanitizer_name(GANTRY_SANITIZER) + ", which would end the process; build both alike");
  }
}

}  // namespace gantry

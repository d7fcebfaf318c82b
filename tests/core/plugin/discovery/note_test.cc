// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/note.h"

#include <cstring>
#include <elf.h>
#include <string>

#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace gantry {
namespace {

// The smallest library with a note: header, note, section names, three section headers.
struct Elf {
  Elf64_Ehdr header = {};
  gantry_note note = {7,
                      sizeof(gantry_note) - offsetof(gantry_note, major),
                      1,
                      "gantry",
                      GANTRY_ABI_MAJOR,
                      GANTRY_ABI_LAYOUT,
                      GANTRY_ABI_MINOR,
                      0};
  char names[32] = "\0.note.gantry";
  Elf64_Shdr sections[3] = {};

  Elf() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
#if defined(__x86_64__)
    header.e_machine = EM_X86_64;
#else
    header.e_machine = EM_AARCH64;
#endif
    header.e_shoff = offsetof(Elf, sections);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    sections[1].sh_name = 1;
    sections[1].sh_offset = offsetof(Elf, note);
    sections[1].sh_size = sizeof(note);
    sections[2].sh_name = 0;
    sections[2].sh_offset = offsetof(Elf, names);
    sections[2].sh_size = sizeof(names);
  }
  [[nodiscard]] std::string bytes() const {
    return {reinterpret_cast<const char*>(this), sizeof(*this)};
  }
};

class NoteTest : public testing::Test {
 protected:
  std::string file(const std::string& bytes) {
    return folder_.write("x" + std::to_string(count_++) + ".so", bytes);
  }
  std::string file(const Elf& elf) { return file(elf.bytes()); }
  void expect_refused(Code code, const std::vector<std::string>& parts, const std::string& bytes) {
    const std::string path = file(bytes);
    test::expect_error(code, parts, [&] { read_note(LibraryFile(path)); });
  }

  test::TempFolder folder_;
  int count_ = 0;
};

TEST_F(NoteTest, ReadsAndAccepts) {
  const std::string path = file(Elf());
  const gantry_note note = read_note(LibraryFile(path));
  EXPECT_EQ(note.major, static_cast<uint32_t>(GANTRY_ABI_MAJOR));
  check_note(note, path);
}

TEST_F(NoteTest, RefusesFilesThatAreNoLibrary) {
  test::expect_error(Code::kNotFound, {folder_.path("gone.so")},
                     [&] { read_note(LibraryFile(folder_.path("gone.so"))); });
  expect_refused(Code::kInvalidArgument, {"0 bytes", "not an ELF file"}, "");
  expect_refused(Code::kInvalidArgument, {"not an ELF file"}, std::string(500, 'x'));
  expect_refused(Code::kInvalidArgument, {"not an ELF file"}, "/* GNU ld script */ INPUT(libx.so)");
  Elf program;
  program.header.e_type = ET_EXEC;
  expect_refused(Code::kInvalidArgument, {"not a shared library"}, program.bytes());
}

TEST_F(NoteTest, RefusesOtherProcessors) {
  Elf other;
  other.header.e_machine = EM_RISCV;
  expect_refused(Code::kAbiMismatch, {"ELF machine 243"}, other.bytes());
  Elf narrow;
  narrow.header.e_ident[EI_CLASS] = ELFCLASS32;
  expect_refused(Code::kAbiMismatch, {"a 32-bit processor"}, narrow.bytes());
  Elf big;
  big.header.e_ident[EI_DATA] = ELFDATA2MSB;
  expect_refused(Code::kAbiMismatch, {"another byte order"}, big.bytes());
}

TEST_F(NoteTest, RefusesLibrariesWithoutNote) {
  Elf renamed;
  renamed.names[1] = '_';
  expect_refused(Code::kInvalidArgument, {"without the note", "GANTRY_PROVIDER_NOTE"},
                 renamed.bytes());
  Elf stripped;
  stripped.header.e_shoff = 0;
  expect_refused(Code::kInvalidArgument, {"without the note"}, stripped.bytes());
  Elf other;
  std::memcpy(other.note.name, "gentry", 6);
  expect_refused(Code::kInvalidArgument, {"holds something else"}, other.bytes());
  Elf shorter;
  shorter.sections[1].sh_size = 20;
  expect_refused(Code::kInvalidArgument, {"cut short"}, shorter.bytes());
}

TEST_F(NoteTest, SurvivesEveryTruncation) {
  const std::string whole = Elf().bytes();
  for (size_t length = 0; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    expect_refused(Code::kInvalidArgument, {}, whole.substr(0, length));
  }
}

TEST_F(NoteTest, SurvivesAnyByteInAnyPlace) {
  const std::string whole = Elf().bytes();
  for (size_t place = 0; place < whole.size(); ++place) {
    std::string bytes = whole;
    bytes[place] = static_cast<char>(~bytes[place]);
    const std::string path = folder_.write("mutant.so", bytes);
    try {
      check_note(read_note(LibraryFile(path)), path);
    } catch (const Error&) {
      continue;  // refused is as good as read; what counts is that nothing else happens
    }
  }
}

TEST_F(NoteTest, RefusesOtherVersions) {
  Elf newer;
  newer.note.major = GANTRY_ABI_MAJOR + 1;
  const std::string path = file(newer);
  test::expect_error(Code::kAbiMismatch, {path, "major version 1", "found 2", "upgrade gantry"},
                     [&] { check_note(read_note(LibraryFile(path)), path); });
  Elf older;
  older.note.major = 0;
  test::expect_error(Code::kAbiMismatch, {"rebuild the provider"},
                     [&] { check_note(older.note, "x.so"); });
  Elf layout;
  layout.note.layout = GANTRY_ABI_LAYOUT + 1;
  test::expect_error(Code::kAbiMismatch, {"another layout", "rebuild the provider"},
                     [&] { check_note(layout.note, "x.so"); });
}

TEST_F(NoteTest, RefusesASanitizerThatTheHostLacks) {
  Elf sanitized;
  sanitized.note.sanitizer = GANTRY_SANITIZER == 1 ? 2 : 1;
  test::expect_error(Code::kAbiMismatch, {"Sanitizer", "build both alike"},
                     [&] { check_note(sanitized.note, "x.so"); });
  sanitized.note.sanitizer = 0;
  check_note(sanitized.note, "x.so");
}

}  // namespace
}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// Library files of providers: ELF headers, the note, what the lint reads.
#include "fuzz_target.h"
#include "plugin/discovery/elf_metadata.h"
#include "plugin/discovery/note.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static gantry::fuzz::InputFile input("library");
  const std::string& path = input.write(gantry::fuzz::bytes_of(data, size));
  gantry::fuzz::run_or_refuse([&] {
    const gantry::LibraryFile file(path);
    gantry::fuzz::run_or_refuse([&] { gantry::check_note(gantry::read_note(file), path); });
    gantry::check_elf(file);
    (void)gantry::read_program_headers(file);
    (void)gantry::read_elf_metadata(file);
  });
  return 0;
}

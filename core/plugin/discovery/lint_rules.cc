// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/lint_rules.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <regex>

#include "base/names.h"
#include "plugin/discovery/library_file.h"

namespace gantry {
namespace {

using Findings = std::vector<std::string>;

constexpr size_t kShown = 5;  // symbols shown of a long list

std::string some_of(std::vector<std::string> names) {
  const size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  if (more != 0) names.push_back(std::to_string(more) + " more");
  return list_names(names);
}

Findings check_exports(const LintSubject& subject) {
  std::vector<std::string> others;
  bool has_entry = false;
  for (const ElfExport& symbol : subject.metadata.exports) {
    has_entry = has_entry || symbol.name == kEntryName;
    if (symbol.name != kEntryName) others.push_back(symbol.name);
  }
  Findings findings;
  if (!has_entry)
    findings.push_back(std::string("expected the export ") + kEntryName + ", found none");
  if (!others.empty()) {
    findings.push_back(std::string("expected ") + kEntryName + " as the only export, found also " +
                       some_of(others));
  }
  return findings;
}

Findings check_unique_symbols(const LintSubject& subject) {
  std::vector<std::string> unique;
  for (const ElfExport& symbol : subject.metadata.exports)
    if (symbol.is_unique) unique.push_back(symbol.name);
  if (unique.empty()) return {};
  return {"expected no symbol that is unique in the process, found " + some_of(unique)};
}

Findings check_search_path(const LintSubject& subject) {
  const DynamicSection& section = subject.metadata.dynamic;
  Findings findings;
  for (const auto& [name, path] :
       {std::pair{"RPATH", section.rpath}, std::pair{"RUNPATH", section.runpath}}) {
    for (size_t begin = 0; begin < path.size() + 1 && !path.empty();) {
      const size_t end = std::min(path.find(':', begin), path.size());
      const std::string folder = path.substr(begin, end - begin);
      begin = end + 1;
      if (folder.rfind("$ORIGIN", 0) == 0 || folder.rfind("${ORIGIN}", 0) == 0) continue;
      findings.push_back(std::string("expected every folder of the ") + name +
                         " to begin with $ORIGIN, found \"" + folder + "\"");
    }
  }
  for (const std::string& name : section.needed) {
    if (name.find('/') == std::string::npos) continue;
    findings.push_back("expected to be linked with libraries by name, found the path \"" + name +
                       "\"");
  }
  return findings;
}

Findings check_stack(const LintSubject& subject) {
  if (!subject.metadata.has_executable_stack) return {};
  return {"expected a stack that holds data only, found that an executable one is asked for"};
}

Findings check_text_relocations(const LintSubject& subject) {
  if (!subject.metadata.has_text_relocations) return {};
  return {"expected code that is the same wherever it is loaded, found text relocations"};
}

Findings check_initialisers(const LintSubject& subject) {
  const std::vector<std::string>& functions = subject.metadata.initialisers;
  if (functions.empty()) return {};
  return {"expected no code that runs when the library is opened, found " + some_of(functions)};
}

Findings check_libc(const LintSubject& subject) {
  constexpr std::string_view kPrefix = "GLIBC_";
  Findings findings;
  for (const ElfVersion& need : subject.metadata.versions) {
    if (need.version.rfind(kPrefix, 0) != 0) continue;
    const std::vector<int> version = parse_version(need.version.substr(kPrefix.size()));
    const bool is_private = version.empty();
    if (!is_private && version <= subject.oldest_libc) continue;
    std::string floor;
    for (const int part : subject.oldest_libc)
      floor += (floor.empty() ? "" : ".") + std::to_string(part);
    std::string what = "expected to run with a C library of version " + floor + ", found that ";
    what.append(need.library).append(" has to have ").append(need.version);
    findings.push_back(what + " (for " + some_of(need.symbols) + ")");
  }
  return findings;
}

// True if the library's name has the provider's name or a digest in it, so that no other provider
// ships a library of that name.
bool is_own_name(const std::string& library, const std::string& provider) {
  static const std::regex* const digest = new std::regex("-[0-9a-f]{8,}[.]");
  const auto bare = [](const std::string& text) {
    std::string letters;
    for (const char c : text) {
      if (std::isalnum(static_cast<unsigned char>(c)))
        letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return letters;
  };
  return bare(library).find(bare(provider)) != std::string::npos ||
         std::regex_search(library, *digest);
}

Findings check_bundled(const LintSubject& subject) {
  Findings findings;
  for (const std::string& name : subject.brings) {
    if (is_own_name(name, subject.provider)) continue;
    findings.push_back("expected libraries that it brings to have names of their own, found " +
                       name);
  }
  return findings;
}

}  // namespace

std::vector<int> parse_version(const std::string& text) {
  std::vector<int> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    int part = -1;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, part);
    if (error != std::errc() || stop != text.data() + end || part < 0) return {};
    parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

const std::vector<LibraryRule>& library_rules() {
  static const auto* const rules = new std::vector<LibraryRule>{
      {"exports",
       "any other symbol is visible to debuggers and tools as if it were part of the boundary, and "
       "binds to another library's of that name where somebody opens the provider globally",
       "build with gantry_provider_library of the SDK, or link with its version script, "
       "lib/cmake/gantry_sdk/provider_exports.map, that makes "
       "everything but gantry_provider_v1 local",
       false, check_exports},
      {"unique-symbols",
       "a library with such a symbol can never be unloaded, and shares the variable with every "
       "other library that has one of that name",
       "hide them with a version script, or compile with -fno-gnu-unique", true,
       check_unique_symbols},
      {"search-path",
       "a fixed folder is another one on the user's machine: missing, or somebody else's to fill",
       "link with -Wl,-rpath,'$ORIGIN' (CMake: INSTALL_RPATH \"$ORIGIN\", "
       "BUILD_RPATH_USE_ORIGIN ON), or without any",
       true, check_search_path},
      {"executable-stack",
       "opening it makes the stack of the whole process executable, or is refused by newer C "
       "libraries",
       "add .section .note.GNU-stack,\"\",@progbits to assembly sources, and link with "
       "-z noexecstack",
       true, check_stack},
      {"text-relocations",
       "its code is copied into every process and writable while it is loaded, which hardened "
       "systems refuse",
       "compile everything with -fPIC, and link with -z text", true, check_text_relocations},
      {"static-initialisers",
       "it runs before anybody could ask for the device: a crash there ends the process, and the "
       "time is paid by who never uses it",
       "make objects at first use inside a function, or constexpr; what cannot be changed gets a "
       "reason in the manifest: \"x-lint\": {\"static-initialisers\": \"...\"}",
       false, check_initialisers},
      {"c-library", "on an older system it is not opened at all",
       "build on the oldest system that you support, or say with --oldest-libc which one that is",
       true, check_libc},
      {"bundled-libraries",
       "a process has one library of a name: of two providers that bring it, the second one gets "
       "the first one's",
       "link them statically and hide their symbols, or rename them (patchelf --set-soname) so "
       "that "
       "the provider's name is part of theirs",
       false, check_bundled},
  };
  return *rules;
}

}  // namespace gantry

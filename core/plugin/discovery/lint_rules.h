// SPDX-License-Identifier: Apache-2.0
// The rules of provider_lint.h that look at one library file, as a table. Pure functions over what
// was read of the file.
#pragma once

#include <gantry/provider_lint.h>

#include <string>
#include <vector>

#include "plugin/discovery/elf_metadata.h"

namespace gantry {

/// What a rule sees.
struct LintSubject {
  std::string provider;  ///< name in the manifest
  std::string file;
  ElfFacts facts;
  bool is_provider = true;  ///< false: a library that the provider brings
  /// Libraries that it brings, as they are linked with; of the provider itself.
  std::vector<std::string> brings;
  std::vector<int> oldest_libc;  ///< {2, 36}
};

struct LibraryRule {
  const char* name;
  const char* reason;
  const char* remedy;
  bool counts_for_brought;  ///< holds for the libraries that a provider brings, too
  /// A sentence for each breach: what was expected and what was found.
  std::vector<std::string> (*check)(const LintSubject& subject);
};

const std::vector<LibraryRule>& library_rules();

/// {2, 36} of "2.36"; empty: not a version.
std::vector<int> parse_version(const std::string& text);

}  // namespace gantry

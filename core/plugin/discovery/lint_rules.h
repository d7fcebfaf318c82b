// SPDX-License-Identifier: Apache-2.0
// The table of the rules of provider_lint.h that check one library file. Pure functions of the
// file's metadata.
#pragma once

#include <gantry/provider_lint.h>

#include <string>
#include <vector>

#include "plugin/discovery/elf_metadata.h"

namespace gantry {

/// The input of a rule.
struct LintSubject {
  std::string provider;  ///< name in the manifest
  std::string file;
  ElfMetadata metadata;
  bool is_provider = true;  ///< false: a library shipped with the provider
  /// names of the libraries shipped with it, as it is linked with them; of the provider only
  std::vector<std::string> brings;
  std::vector<int> oldest_libc;  ///< {2, 36}
};

struct LibraryRule {
  const char* name;
  const char* reason;
  const char* remedy;
  bool counts_for_brought;  ///< also applies to the libraries shipped with a provider
  /// A sentence for each violation: what was expected and what was found.
  std::vector<std::string> (*check)(const LintSubject& subject);
};

const std::vector<LibraryRule>& library_rules();

/// {2, 36} of "2.36"; empty: not a version.
std::vector<int> parse_version(const std::string& text);

}  // namespace gantry

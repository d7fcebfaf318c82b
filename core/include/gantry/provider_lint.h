// SPDX-License-Identifier: Apache-2.0
// What can be seen to be wrong with a provider before anyone opens it: its manifest and its library
// as files, held to rules. Each finding says what is wrong, why it matters and how to mend it.
// Reads files, runs nothing of the provider. Any thread.
#pragma once

#include <gantry/error.h>

#include <filesystem>
#include <string>
#include <vector>

namespace gantry {

/// A rule, the same for every provider.
struct LintRule {
  std::string name;    ///< "exports": how findings and waivers name it
  std::string reason;  ///< why it matters, one sentence
  std::string remedy;  ///< how to mend it, one sentence
};

struct LintFinding {
  LintRule rule;
  std::string file;  ///< the manifest, the library, or a library that it brings
  std::string what;  ///< what was expected and what was found
  /// Why it is as it should be after all: what the manifest says of this rule below /x-lint; empty:
  /// nothing, so that the finding counts.
  std::string waiver;
};

struct LintOptions {
  /// Oldest C library that the provider is to run with.
  std::string oldest_libc = "2.36";
};

struct LintReport {
  std::vector<std::string> files;  ///< libraries that were looked at
  std::vector<LintFinding> findings;
  /// No finding but those that the manifest has a reason for.
  [[nodiscard]] bool is_good() const;
};

/// Every rule, in the order in which they are checked.
std::vector<LintRule> lint_rules();

/// Holds a manifest, the library of each of its variants and the libraries that those bring to the
/// rules. INVALID_ARGUMENT: oldest_libc is no version.
LintReport lint_provider(const std::filesystem::path& manifest, const LintOptions& options = {});

}  // namespace gantry

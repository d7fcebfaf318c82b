// SPDX-License-Identifier: Apache-2.0
// Static checks of a provider's manifest and libraries. Each finding says what is wrong, why it
// matters and how to mend it. Reads the files only and runs no code of the provider. Any thread.
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
  std::string file;  ///< the manifest, the library, or a library shipped with it
  std::string what;  ///< what was expected and what was found
  /// The manifest's reason for an exception, its /x-lint entry for this rule; empty: the finding
  /// counts.
  std::string waiver;
};

struct LintOptions {
  /// Oldest C library that the provider is to run with.
  std::string oldest_libc = "2.36";
};

struct LintReport {
  std::vector<std::string> files;  ///< libraries that were checked
  std::vector<LintFinding> findings;
  /// True if every finding has a waiver.
  [[nodiscard]] bool is_good() const;
};

/// Every rule, in the order in which they are checked.
std::vector<LintRule> lint_rules();

/// Checks a manifest, the library of each of its variants and the libraries shipped with them.
/// INVALID_ARGUMENT: oldest_libc is no version.
LintReport lint_provider(const std::filesystem::path& manifest, const LintOptions& options = {});

}  // namespace gantry

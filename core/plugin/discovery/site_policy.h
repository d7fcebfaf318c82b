// SPDX-License-Identifier: Apache-2.0
// What the administrator of a machine allows (configs/policy.schema.json), above environment,
// users' folders and configurations. Immutable once read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plugin/discovery/discovery.h"
#include "plugin/discovery/manifest.h"

namespace gantry {

struct SitePolicy {
  /// Describes providers by every member that is not empty; * and ? are wild cards.
  struct Rule {
    std::string name;
    std::string vendor;
    std::string sha256;
  };
  std::string file;  ///< where it was read; empty: there is none
  bool allow_env = true;
  bool allow_user_dir = true;
  bool require_digest = false;
  std::optional<std::vector<Rule>> allow;
  std::vector<Rule> deny;
  std::vector<std::string> force_isolation;

  /// The defaults if there is no such file. INVALID_ARGUMENT: malformed. UNAVAILABLE: somebody
  /// else than those of check_trusted could have written it. NOT_FOUND: it is there and cannot be
  /// read.
  static SitePolicy read(const std::string& file, bool is_elevated);

  /// UNAVAILABLE: manifests of that place do not count.
  void check_place(const ManifestFile& manifest) const;
  /// Whether a provider of that name must run in a process of its own.
  [[nodiscard]] bool forces_isolation(const std::string& name) const;
  /// What is known before the library is looked at. UNAVAILABLE: denied, not among the allowed, or
  /// without the digest that is asked for.
  void check_manifest(const Manifest& manifest, bool is_bundled) const;
  /// Whether rules speak of digests.
  [[nodiscard]] bool reads_digests() const;
  /// The rest of the rules, with the library's digest. UNAVAILABLE as before.
  void check_library(const Manifest& manifest, const std::string& sha256) const;

 private:
  void check(const Manifest& manifest, const std::string* sha256) const;
};

/// The JSON Schema of policies, as text.
const std::string& policy_schema();

}  // namespace gantry

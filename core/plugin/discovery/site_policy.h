// SPDX-License-Identifier: Apache-2.0
// The administrator's policy for providers (configs/policy.schema.json), which overrides
// environment, users' folders and configurations. Immutable once read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plugin/discovery/discovery.h"
#include "plugin/discovery/manifest.h"

namespace gantry {

struct SitePolicy {
  /// Matches a provider if every member that is not empty matches; * and ? are wildcards.
  struct Rule {
    std::string name;
    std::string vendor;
    std::string sha256;
  };
  std::string file;  ///< path of the policy; empty: there is none
  bool allow_env = true;
  bool allow_user_dir = true;
  bool require_digest = false;
  std::optional<std::vector<Rule>> allow;
  std::vector<Rule> deny;
  std::vector<std::string> force_isolation;

  /// Reads the policy; the defaults if there is no such file. INVALID_ARGUMENT: malformed.
  /// UNAVAILABLE: an untrusted user could have written it (check_trusted). NOT_FOUND: it exists and
  /// cannot be read.
  static SitePolicy read(const std::string& file, bool is_elevated);

  /// UNAVAILABLE: the policy does not allow manifests from that place.
  void check_place(const ManifestFile& manifest) const;
  /// Whether a provider of that name must run in a process of its own.
  [[nodiscard]] bool forces_isolation(const std::string& name) const;
  /// Checks the rules that need no digest, before the library is read. UNAVAILABLE: denied, not
  /// allowed, or without the digest that the policy requires.
  void check_manifest(const Manifest& manifest, bool is_bundled) const;
  /// Whether a rule needs the library's digest.
  [[nodiscard]] bool reads_digests() const;
  /// Checks all rules with the library's digest. UNAVAILABLE: as check_manifest.
  void check_library(const Manifest& manifest, const std::string& sha256) const;

 private:
  void check(const Manifest& manifest, const std::string* sha256) const;
};

/// The JSON Schema of policies, as text.
const std::string& policy_schema();

}  // namespace gantry

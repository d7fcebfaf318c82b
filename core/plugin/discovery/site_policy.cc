// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/site_policy.h"

#include <gantry/error.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/names.h"
#include "plugin/discovery/strict_json.h"
#include "plugin/discovery/trusted_path.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::vector<SitePolicy::Rule> to_rules(const json& list) {
  std::vector<SitePolicy::Rule> rules;
  for (const json& rule : list) {
    rules.push_back({rule.value("name", ""), rule.value("vendor", ""),
                     in_lower_case(rule.value("sha256", ""))});
  }
  return rules;
}

bool fits(const std::string& pattern, const std::string& text) {
  return pattern.empty() || matches_pattern(pattern, text);
}

bool describes(const SitePolicy::Rule& rule, const Manifest& manifest, const std::string* sha256) {
  return fits(rule.name, manifest.name) && fits(rule.vendor, manifest.vendor) &&
         (rule.sha256.empty() || (sha256 && matches_pattern(rule.sha256, *sha256)));
}

// Whether a rule matches, or may match once the digest is known (`sha256` null: it is not yet).
bool may_describe(const SitePolicy::Rule& rule, const Manifest& manifest,
                  const std::string* sha256) {
  if (sha256 || rule.sha256.empty()) return describes(rule, manifest, sha256);
  return fits(rule.name, manifest.name) && fits(rule.vendor, manifest.vendor);
}

bool has_digest(const SitePolicy::Rule& rule) { return !rule.sha256.empty(); }

}  // namespace

SitePolicy SitePolicy::read(const std::string& file, bool is_elevated) {
  SitePolicy policy;
  std::error_code error;
  if (file.empty() || (!fs::exists(file, error) && !error)) return policy;
  const fs::path real = fs::canonical(file, error);
  std::ifstream stream(file, std::ios::binary);
  if (error || !stream)
    throw Error(Code::kNotFound, file + ": the site policy is there and cannot be read");
  check_trusted(real.string(), TrustedWriters::of_process(is_elevated));
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  const JsonDocument document = parse_json(text, file);
  const json& root = document.root;
  const JsonSchema schema(json::parse(policy_schema()), "configs/policy.schema.json");
  for (const JsonProblem& problem : schema.problems(root))
    throw Error(Code::kInvalidArgument, describe_problem(file, document.positions, problem));
  policy.file = file;
  policy.allow_env = root.value("allow_env", true);
  policy.allow_user_dir = root.value("allow_user_dir", true);
  policy.require_digest = root.value("require_digest", false);
  if (root.contains("allow")) policy.allow = to_rules(root["allow"]);
  policy.deny = to_rules(root.value("deny", json::array()));
  policy.force_isolation = root.value("force_isolation", std::vector<std::string>());
  return policy;
}

void SitePolicy::check_place(const ManifestFile& manifest) const {
  const bool is_refused = (manifest.place == ManifestFile::Place::kUser && !allow_user_dir) ||
                          (manifest.place == ManifestFile::Place::kEnvironment && !allow_env);
  if (!is_refused) return;
  throw Error(Code::kUnavailable, manifest.path + ": the site policy " + file +
                                      " does not let manifests come from " + manifest.origin);
}

bool SitePolicy::forces_isolation(const std::string& name) const {
  return std::any_of(force_isolation.begin(), force_isolation.end(),
                     [&](const std::string& pattern) { return matches_pattern(pattern, name); });
}

void SitePolicy::check_manifest(const Manifest& manifest, bool is_bundled) const {
  const std::string subject = "provider \"" + manifest.name + "\": the site policy " + file;
  if (require_digest && !is_bundled && manifest.sha256.empty()) {
    throw Error(Code::kUnavailable,
                subject +
                    " asks for the library's SHA-256 in the manifest's member sha256, found "
                    "none");
  }
  check(manifest, nullptr);
}

bool SitePolicy::reads_digests() const {
  return std::any_of(deny.begin(), deny.end(), has_digest) ||
         (allow && std::any_of(allow->begin(), allow->end(), has_digest));
}

void SitePolicy::check_library(const Manifest& manifest, const std::string& sha256) const {
  check(manifest, &sha256);
}

void SitePolicy::check(const Manifest& manifest, const std::string* sha256) const {
  const std::string subject = "provider \"" + manifest.name + "\" of vendor \"" + manifest.vendor +
                              "\"" + (sha256 ? " with the digest " + *sha256 : "") +
                              ": the site policy " + file;
  for (const Rule& rule : deny) {
    if (describes(rule, manifest, sha256)) throw Error(Code::kUnavailable, subject + " denies it");
  }
  if (allow && std::none_of(allow->begin(), allow->end(),
                            [&](const Rule& rule) { return may_describe(rule, manifest, sha256); }))
    throw Error(Code::kUnavailable, subject + " does not allow it");
}

}  // namespace gantry

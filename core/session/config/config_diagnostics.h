// SPDX-License-Identifier: Apache-2.0
// Errors and warnings of a configuration, and the origins of its members. Pure functions.
#pragma once

#include <gantry/config.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "plugin/discovery/strict_json.h"
#include "plugin/registry.h"

namespace gantry {

/// Where a member was set.
struct ConfigOrigin {
  std::string document;         ///< its name in messages
  JsonMemberPosition position;  ///< line and column; zeros if the document was given in code
};

/// The origins of the members of a configuration, by JSON pointer. Searches the merged documents,
/// the last one first.
class ConfigOrigins {
 public:
  /// Adds a document that is merged over those before.
  void merge(const JsonDocument& document, const std::string& name, bool has_lines);
  /// The origin of the member, or of the innermost member around it that is set; empty: none is.
  [[nodiscard]] std::optional<ConfigOrigin> find(std::string pointer) const;
  [[nodiscard]] bool contains(const std::string& pointer) const {
    return exact(pointer).has_value();
  }
  /// `document:line:column` of the value or of a member around it; "default": no document sets
  /// either.
  [[nodiscard]] std::string text_of(const std::string& pointer) const;

 private:
  struct Document {
    JsonPositions positions;
    std::string name;
    bool has_lines = false;
  };
  [[nodiscard]] std::optional<ConfigOrigin> exact(const std::string& pointer) const;
  std::vector<Document> documents_;
};

ConfigFinding to_finding(Code code, const JsonProblem& problem, const ConfigOrigins& origins);

/// Findings that need the document only: violations of the schema, members that are not
/// implemented, malformed devices, unknown passes.
std::vector<ConfigFinding> document_findings(const nlohmann::json& root,
                                             const ConfigOrigins& origins);

/// Findings that depend on the providers found on this machine: options that violate a manifest's
/// schema; warnings about providers, device types and search paths that do not exist, and about
/// members that contradict each other. Parts of `root` that violate the schema are ignored.
std::vector<ConfigFinding> provider_findings(const nlohmann::json& root,
                                             const ConfigOrigins& origins,
                                             const std::vector<KnownProvider>& providers);

/// Sorts by document, in the order given, then by line and column.
void sort_findings(std::vector<ConfigFinding>& findings);

/// Throws if a finding is an error; the message has a line for each error.
void throw_errors_of(const std::vector<ConfigFinding>& findings);

}  // namespace gantry

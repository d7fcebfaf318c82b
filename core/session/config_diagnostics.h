// SPDX-License-Identifier: Apache-2.0
// What is wrong with a configuration, and where its members come from. Pure functions.
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
  std::string document;  ///< as messages name it
  JsonPlace place;       ///< zeros if the document was given in code
};

/// Where the members of a configuration were set, by JSON pointer. The documents that have been
/// merged are asked, the last one first.
class ConfigOrigins {
 public:
  /// Merges a document over those before: what it replaces is set by it alone.
  void merge(const JsonDocument& document, const std::string& name, bool has_lines);
  /// Of the member, or of the innermost one around it; empty: nobody set it.
  [[nodiscard]] std::optional<ConfigOrigin> find(std::string pointer) const;
  [[nodiscard]] bool contains(const std::string& pointer) const {
    return exact(pointer).has_value();
  }
  /// `document:line:column` of the value; "default" if nobody set it or anything around it but the
  /// document.
  [[nodiscard]] std::string text_of(const std::string& pointer) const;

 private:
  struct Document {
    JsonPlaces places;
    std::string name;
    bool has_lines = false;
  };
  [[nodiscard]] std::optional<ConfigOrigin> exact(const std::string& pointer) const;
  std::vector<Document> documents_;
};

ConfigFinding to_finding(Code code, const JsonProblem& problem, const ConfigOrigins& origins);

/// What can be said of a document alone: breaches of the schema, members that are not implemented,
/// malformed devices, names of passes.
std::vector<ConfigFinding> document_findings(const nlohmann::json& root,
                                             const ConfigOrigins& origins);

/// What only this machine tells: options by the manifests' schemas; warnings of providers, device
/// types and places to search that are not there, and of members that contradict each other. Parts
/// of `root` that break the schema are passed over.
std::vector<ConfigFinding> provider_findings(const nlohmann::json& root,
                                             const ConfigOrigins& origins,
                                             const std::vector<KnownProvider>& providers);

/// By document in the order given, line and column.
void sort_findings(std::vector<ConfigFinding>& findings);

/// Throws if one is an error: the errors, one in a line.
void throw_errors_of(const std::vector<ConfigFinding>& findings);

}  // namespace gantry

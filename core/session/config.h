// SPDX-License-Identifier: Apache-2.0
// The configuration: one JSON document (ARCHITECTURE §7 and §10), checked against
// configs/gantry.schema.json before anything is loaded, and merged from the GANTRY_CONFIG file, the
// runtime's document and the session's. Immutable once parsed.
#pragma once

#include <gantry/error.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugin/registry.h"

namespace gantry {

/// What happens to nodes that the named device refuses.
enum class Fallback { kError, kWarn, kAllow };
/// How hard the passes try.
enum class Optimization { kNone, kBasic, kAll };

/// Nodes that match every given member go to `device`. Patterns know * and ?; an absent member
/// matches everything.
struct PlacementRule {
  std::string op_type;
  std::optional<std::string> domain;
  std::string name;    ///< pattern of the node's name
  std::string device;  ///< as written; a valid device string

  [[nodiscard]] bool matches(const std::string& node_op_type, const std::string& node_domain,
                             const std::string& node_name) const;
};

struct Config {
  ProviderSettings providers;
  struct {
    std::vector<std::string> prefer;  ///< device strings, most preferred first
    Fallback fallback = Fallback::kError;
    std::vector<PlacementRule> rules;  ///< the first match wins
    bool cost_model = false;           ///< move what costs less on another device
  } placement;
  struct {
    int threads = 0;  ///< 0: one for each core that the process may use
    Optimization optimization = Optimization::kAll;
    std::vector<std::string> disable_passes;
    uint64_t memory_limit_bytes = UINT64_MAX;  ///< see MemoryBudget; absent: no limit
    bool capture = true;            ///< of kernels on devices that can; see Executor::Options
    uint64_t stop_grace_ms = 2000;  ///< for devices to come to rest when a run is stopped
  } session;
  /// JSON pointer of every member that is set -> where from: "GANTRY_CONFIG", "runtime", "session".
  std::map<std::string, std::string> origins;
  std::string text;  ///< the merged document, as JSON

  /// Merges the documents, later over earlier, and checks each. Empty texts are left out.
  /// INVALID_ARGUMENT: not JSON, an unknown member (with the nearest name), a wrong type or value;
  /// each with the JSON pointer. UNSUPPORTED: a member that this version does not implement.
  struct Document {
    std::string origin;
    std::string text;
  };
  static Config parse(const std::vector<Document>& documents);
  /// The file that GANTRY_CONFIG names, as the first document of a merge; empty text: the variable
  /// is not set. NOT_FOUND: no such file.
  static Document of_environment();
};

/// The JSON Schema of the configuration, as text.
const std::string& config_schema();

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// The configuration: JSON documents, each checked against configs/gantry.schema.json before
// anything is loaded, merged over the schema's defaults: the file of GANTRY_CONFIG, the runtime's
// document, the session's. Immutable once parsed.
#pragma once

#include <gantry/config.h>
#include <gantry/error.h>

#include <optional>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "plugin/registry.h"
#include "session/config_diagnostics.h"

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
    bool capture = true;    ///< of kernels on devices that can; see Executor::Options
    bool map_files = true;  ///< else they are copied when a session is made
    [[nodiscard]] FileAccess file_access() const {
      return map_files ? FileAccess::kMap : FileAccess::kCopy;
    }
    uint64_t stop_grace_ms = 2000;  ///< for devices to come to rest when a run is stopped
    std::string profile;            ///< file for a trace; empty: none is taken
    std::string precision = "f32";  ///< of float32 computations: "f32" or "bf16"
    std::string artefact_cache;     ///< folder; empty: nothing is kept
    uint64_t artefact_cache_limit_bytes = 0;
  } session;
  ConfigOrigins origins;  ///< of every member that a document sets
  nlohmann::json root;    ///< the merged document, defaults included

  /// `document:line:column: pointer` of a member that a document sets; `configuration: pointer`
  /// else.
  [[nodiscard]] std::string where(const std::string& pointer) const;

  /// A document of a merge.
  struct Document {
    std::string layer;  ///< "GANTRY_CONFIG", "runtime" or "session"
    std::string text;
    std::string file = {};  ///< where the text stands; empty: it was given in code
    /// How messages name it.
    [[nodiscard]] std::string name() const;
  };
  /// Merges the documents, later over earlier, and checks each. Empty texts are left out.
  /// INVALID_ARGUMENT: not JSON, an unknown member (with the nearest name), a wrong type or value;
  /// each with its place and JSON pointer, all that are found. UNSUPPORTED: a member that this
  /// version does not implement.
  static Config parse(const std::vector<Document>& documents);
  /// The file that GANTRY_CONFIG names, as the first document of a merge; empty text: the variable
  /// is not set, or the process has raised privileges (`is_elevated`), which is logged. NOT_FOUND:
  /// no such file.
  static Document of_environment(bool is_elevated);
  static Document of_environment();
};

/// What a configuration says in vain for a session; loud ones are worth a line in everybody's log.
struct ConfigWarning {
  std::string text;
  bool is_loud = false;
};

/// Parses one document and says what is wrong with it alone. `document` is empty if it is no JSON.
struct CheckedDocument {
  JsonDocument document;
  ConfigOrigins origins;
  std::vector<ConfigFinding> findings;
};
CheckedDocument check_document(const Config::Document& document);

}  // namespace gantry

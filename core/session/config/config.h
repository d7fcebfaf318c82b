// SPDX-License-Identifier: Apache-2.0
// The configuration: three JSON documents merged over the defaults of configs/gantry.schema.json:
// the file of GANTRY_CONFIG, the runtime's document, the session's document. Each is checked
// against the schema before anything is loaded. Immutable once parsed.
#pragma once

#include <gantry/config.h>
#include <gantry/error.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "plugin/registry.h"
#include "session/config/config_diagnostics.h"

namespace gantry {

/// Policy for nodes that the named device refuses.
enum class Fallback { kError, kWarn, kAllow };
/// Which passes run: none; all without constant folding; all.
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
    bool cost_model = false;           ///< see PlacementPolicy::cost_model
  } placement;
  struct {
    int threads = 0;  ///< 0: one for each core that the process may use
    Optimization optimization = Optimization::kAll;
    std::vector<std::string> disable_passes;
    std::map<std::string, int64_t> dimensions;  ///< see ModelChanges
    uint64_t memory_limit_bytes = UINT64_MAX;   ///< see MemoryBudget; absent: no limit
    bool capture = true;                        ///< see Executor::Options
    bool map_files = true;  ///< map model files; false: copy them when a session is made
    [[nodiscard]] FileAccess file_access() const {
      return map_files ? FileAccess::kMap : FileAccess::kCopy;
    }
    uint64_t stop_grace_ms = 2000;  ///< time for devices to become idle when a run is stopped
    std::string profile;            ///< file for a trace; empty: no trace
    std::string precision = "f32";  ///< of float32 computations: "f32" or "bf16"
    std::string artefact_cache;     ///< folder of the compiled-model cache; empty: none
    uint64_t artefact_cache_limit_bytes = 0;
  } session;
  ConfigOrigins origins;  ///< of every member that a document sets
  nlohmann::json root;    ///< the merged document, defaults included

  /// Position of a member for messages: `document:line:column: pointer` if a document sets it, else
  /// `configuration: pointer`.
  [[nodiscard]] std::string where(const std::string& pointer) const;

  /// A document of a merge.
  struct Document {
    std::string layer;  ///< "GANTRY_CONFIG", "runtime" or "session"
    std::string text;
    std::string file = {};  ///< the file of the text; empty: given in code
    /// Name of the document in messages.
    [[nodiscard]] std::string name() const;
  };
  /// Merges the documents, later over earlier, and checks each. Empty texts are skipped.
  /// INVALID_ARGUMENT: not JSON, an unknown member (with the nearest name), a wrong type or value;
  /// the message has all errors, each with position and JSON pointer. UNSUPPORTED: a member that
  /// this version does not implement.
  static Config parse(const std::vector<Document>& documents);
  /// The file that GANTRY_CONFIG names, as the first document of a merge. Empty text: the variable
  /// is not set, or it is ignored because the process has raised privileges (`is_elevated`), which
  /// is logged. NOT_FOUND: no such file.
  static Document of_environment(bool is_elevated);
  static Document of_environment();
};

/// A part of the configuration that has no effect on a session. Loud ones are logged as warnings,
/// others as information.
struct ConfigWarning {
  std::string text;
  bool is_loud = false;
};

/// Parses one document and checks it by itself. `document` is empty if the text is not JSON.
struct CheckedDocument {
  JsonDocument document;
  ConfigOrigins origins;
  std::vector<ConfigFinding> findings;
};
CheckedDocument check_document(const Config::Document& document);

}  // namespace gantry

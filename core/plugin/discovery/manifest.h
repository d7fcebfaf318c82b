// SPDX-License-Identifier: Apache-2.0
// A provider's manifest: the JSON file that describes a library before it is opened
// (docs/MANIFEST.md). Pure functions.
#pragma once

#include <gantry/dtype.h>
#include <gantry/error.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/declared_operator.h"
#include "plugin/discovery/strict_json.h"

namespace gantry {

/// A build of the provider, besides or instead of the manifest's own library. Its requirements are
/// in addition to the manifest's.
struct Variant {
  std::string library;
  std::string sha256;
  std::vector<std::string> required_libraries;
  std::vector<std::string> required_cpu_features;
};

enum class ProbeMode { kAuto, kAlways, kNever };

struct Manifest {
  std::string name;  ///< [a-z0-9][a-z0-9_-]{0,63}
  /// former names, which configurations may still use
  std::vector<std::string> former_names;
  std::string vendor;
  std::string version;
  std::string library;  ///< relative to the manifest's folder; empty: given from code
  std::string sha256;   ///< of the library, 64 lower-case hex digits; empty: not given
  uint32_t abi_major = 0;
  uint32_t abi_minor = 0;
  std::vector<std::string> devices;  ///< types, as "CPU"
  int64_t priority = 0;              ///< of several providers of a type the highest comes first
  bool own_threads = false;          ///< has a thread pool of its own
  std::vector<std::string> required_libraries;     ///< file names as "libcuda.so.1"
  std::vector<std::string> required_cpu_features;  ///< as /proc/cpuinfo names them
  /// libraries shipped with it that it opens when a model needs them; paths as `library`
  std::vector<std::string> parts;
  std::map<std::string, std::string> library_hints;  ///< library or part -> its hint
  std::vector<Variant> variants;                     ///< tried in this order, before `library`
  ProbeMode probe = ProbeMode::kAuto;                ///< whether it is probed in a child process
  int64_t probe_timeout_ms = 10000;
  /// files below /dev that its driver opens, with * and ?; the sandbox of a worker process permits
  /// them
  std::vector<std::string> device_files;
  /// 16-bit float types whose nodes it computes in float32, so that passes may convert such nodes
  /// to float32
  std::vector<DType> widens;
  std::vector<DeclaredOperator> operators;  ///< of its own domains, with their types
  bool has_operators_by_options = false;    ///< declared_operators.h: opened only for its options
  bool survives_fork = false;               ///< forked children may use it
  bool is_stand_in = false;                 ///< its devices emulate others for tests
  std::string options_schema;               ///< JSON Schema of the options, as text
  std::string text;                         ///< the whole manifest
  std::vector<std::string> warnings;        ///< one for each unknown member

  /// True of its name and of its former names.
  [[nodiscard]] bool is_called(const std::string& called) const {
    return called == name ||
           std::find(former_names.begin(), former_names.end(), called) != former_names.end();
  }
  [[nodiscard]] bool computes_wider(DType dtype) const {
    return std::find(widens.begin(), widens.end(), dtype) != widens.end();
  }
};

inline constexpr uint64_t kMaxManifestBytes = 256 * 1024;

/// The member of a map by provider name for this provider: under its name, else under a former one;
/// end() if there is none.
template <class Map>
auto find_by_name(const Map& members, const Manifest& manifest) {
  auto found = members.find(manifest.name);
  for (const std::string& former : manifest.former_names) {
    if (found == members.end()) found = members.find(former);
  }
  return found;
}

/// Parses the text of a manifest; `file`: its name in messages. INVALID_ARGUMENT: malformed, too
/// large or deep, a duplicate member, a member of the wrong type; the message has file, line,
/// column, JSON pointer, expected and found. ABI_MISMATCH: another manifest_version.
Manifest parse_manifest(const std::string& text, const std::string& file,
                        bool needs_library = true);

/// One manifest for each build, in the order in which builds are tried: with the library and digest
/// of the build, and the requirements of both.
std::vector<Manifest> builds_of(const Manifest& manifest);

/// Reads and parses a manifest file. NOT_FOUND: it cannot be read. Else as parse_manifest.
Manifest read_manifest(const std::string& file);

/// Violations of the manifest's options schema; pointers start with /providers/options/<name>.
std::vector<JsonProblem> option_problems(const Manifest& manifest, const nlohmann::json& options);

}  // namespace gantry

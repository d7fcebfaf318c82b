// SPDX-License-Identifier: Apache-2.0
// A provider's manifest: the JSON file that says what a library is before anyone opens it
// (docs/MANIFEST.md). Pure functions.
#pragma once

#include <gantry/dtype.h>
#include <gantry/error.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugin/discovery/strict_json.h"

namespace gantry {

/// A build of the provider beside or instead of the manifest's own library; what it requires, it
/// requires beyond the manifest.
struct Variant {
  std::string library;
  std::string sha256;
  std::vector<std::string> required_libraries;
  std::vector<std::string> required_cpu_features;
};

enum class ProbeMode { kAuto, kAlways, kNever };

struct Manifest {
  std::string name;  ///< [a-z0-9][a-z0-9_-]{0,63}
  /// names that it had before; configurations may still use them
  std::vector<std::string> former_names;
  std::string vendor;
  std::string version;
  std::string library;  ///< relative to the manifest's folder; empty: given from code
  std::string sha256;   ///< of the library, 64 lower-case hex digits; empty: not given
  uint32_t abi_major = 0;
  uint32_t abi_minor = 0;
  std::vector<std::string> devices;  ///< types, as "CPU"
  int64_t priority = 0;              ///< of several providers of a type the highest comes first
  bool own_threads = false;          ///< brings a thread pool of its own
  std::vector<std::string> required_libraries;     ///< file names as "libcuda.so.1"
  std::vector<std::string> required_cpu_features;  ///< as /proc/cpuinfo names them
  /// libraries of its own that it opens when a model needs them, paths as `library`
  std::vector<std::string> parts;
  std::map<std::string, std::string> library_hints;  ///< library or part -> its hint
  std::vector<Variant> variants;                     ///< tried in this order, before `library`
  ProbeMode probe = ProbeMode::kAuto;                ///< whether it is tried in a child first
  int64_t probe_timeout_ms = 10000;
  /// what its driver opens below /dev, with * and ?: left open by the sandbox of a process of its
  /// own
  std::vector<std::string> device_files;
  /// types of 16-bit floats whose nodes it computes in float32: it may be given them in float32
  std::vector<DType> widens;
  bool is_stand_in = false;           ///< its devices stand in for others in tests
  std::string options_schema;         ///< JSON Schema of the options, as text
  std::string text;                   ///< the whole manifest
  std::vector<std::string> warnings;  ///< one for each member that is not known

  /// True of its name and of its former ones.
  [[nodiscard]] bool is_called(const std::string& called) const {
    return called == name ||
           std::find(former_names.begin(), former_names.end(), called) != former_names.end();
  }
  [[nodiscard]] bool computes_wider(DType dtype) const {
    return std::find(widens.begin(), widens.end(), dtype) != widens.end();
  }
};

inline constexpr uint64_t kMaxManifestBytes = 256 * 1024;

/// The member of a map by provider name that is meant for this provider: under its name or else
/// under a former one; end() if there is none.
template <class Map>
auto find_by_name(const Map& members, const Manifest& manifest) {
  auto found = members.find(manifest.name);
  for (const std::string& former : manifest.former_names) {
    if (found == members.end()) found = members.find(former);
  }
  return found;
}

/// Parses the text of a manifest; `file` names it in messages. INVALID_ARGUMENT: malformed, too
/// large or deep, a duplicate member, a member of the wrong type; file, line, column, JSON pointer,
/// expected and found. ABI_MISMATCH: another manifest_version.
Manifest parse_manifest(const std::string& text, const std::string& file,
                        bool needs_library = true);

/// The manifest once for each build that it has, in the order in which they are tried: library and
/// digest are those of the build, requirements the manifest's and the build's.
std::vector<Manifest> builds_of(const Manifest& manifest);

/// Reads the file first. NOT_FOUND: it cannot be read.
Manifest read_manifest(const std::string& file);

/// What is wrong with options of the provider by the manifest's schema; pointers start with
/// /providers/options/<name>.
std::vector<JsonProblem> option_problems(const Manifest& manifest, const nlohmann::json& options);

}  // namespace gantry

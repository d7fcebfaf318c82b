// SPDX-License-Identifier: Apache-2.0
// A provider's manifest: the JSON file that says what a library is before anyone opens it
// (ARCHITECTURE §10). Pure functions.
#pragma once

#include <gantry/error.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gantry {

struct Manifest {
  std::string name;  ///< [a-z0-9][a-z0-9_-]{0,63}
  std::string vendor;
  std::string version;
  std::string library;  ///< relative to the manifest's folder; empty: given from code
  uint32_t abi_major = 0;
  uint32_t abi_minor = 0;
  std::vector<std::string> devices;  ///< types, as "CPU"
  int64_t priority = 0;              ///< of several providers of a type the highest comes first
  bool own_threads = false;          ///< brings a thread pool of its own
  std::vector<std::string> required_libraries;     ///< file names as "libcuda.so.1"
  std::vector<std::string> required_cpu_features;  ///< as /proc/cpuinfo names them
  std::string options_schema;                      ///< JSON Schema of the options, as text
  std::string text;                                ///< the whole manifest
  std::vector<std::string> warnings;               ///< one for each member that is not known
};

inline constexpr uint64_t kMaxManifestBytes = 256 * 1024;

/// Parses the text of a manifest; `file` names it in messages. INVALID_ARGUMENT: malformed, too
/// large or deep, a duplicate member, a member of the wrong type; file, JSON pointer, expected and
/// found. ABI_MISMATCH: another manifest_version.
Manifest parse_manifest(const std::string& text, const std::string& file,
                        bool needs_library = true);

/// Reads the file first. NOT_FOUND: it cannot be read.
Manifest read_manifest(const std::string& file);

/// Checks options (a JSON object as text) against the manifest's schema. INVALID_ARGUMENT:
/// JSON pointer below /providers/options/<name>, expected, found, nearest name.
void check_options(const Manifest& manifest, const std::string& options);

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// Checks a provider's library and requirements without opening it: its location, who may write it,
// CPU features, required libraries. Reads files and runs none of their code.
#pragma once

#include <string>
#include <vector>

#include "plugin/discovery/library_file.h"
#include "plugin/discovery/machine.h"
#include "plugin/discovery/manifest.h"
#include "plugin/discovery/trusted_path.h"

namespace gantry {

/// The library of a manifest file: absolute, links resolved. INVALID_ARGUMENT: the path leaves the
/// manifest's folder. NOT_FOUND: no such file. UNAVAILABLE: somebody else could replace the
/// manifest or the library (check_trusted).
std::string resolve_library(const Manifest& manifest, const std::string& manifest_file,
                            const TrustedWriters& writers);

/// The same for a part (Manifest::parts).
std::string resolve_part(const Manifest& manifest, size_t part, const std::string& manifest_file,
                         const TrustedWriters& writers);

/// INVALID_ARGUMENT: the manifest has a digest, and that of the file differs; the message has both.
void check_digest(const Manifest& manifest, const std::string& manifest_file,
                  const LibraryFile& library);

/// CPU features that the manifest requires and the CPU lacks, as "the processor feature amx_tile".
std::vector<std::string> missing_cpu_features(const Manifest& manifest);

/// Libraries that the manifest or the library needs and the dynamic loader would not find, as "the
/// library libcuda.so.1 (install the driver)".
std::vector<std::string> missing_libraries(const Manifest& manifest, const std::string& library,
                                           const DynamicSection& section, Machine& machine);

/// Missing direct and indirect dependencies of any library, each with the file that needs it.
/// INVALID_ARGUMENT, ABI_MISMATCH: the file is no library for this processor.
std::vector<std::string> missing_behind(const std::string& library, Machine& machine);

/// Libraries shipped with the provider that it would not get, because the process has loaded
/// another file of that name: a sentence for each.
std::vector<std::string> library_clashes(const std::string& library, const DynamicSection& section);

/// A library shipped with a provider: a direct or indirect dependency that is found by RPATH or
/// RUNPATH, in the provider's folder or below it.
struct BundledLibrary {
  std::string name;  ///< as in DT_NEEDED
  std::string path;
};
std::vector<BundledLibrary> bundled_libraries(const std::string& library);

}  // namespace gantry

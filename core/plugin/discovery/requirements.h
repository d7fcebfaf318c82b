// SPDX-License-Identifier: Apache-2.0
// What can be checked of a provider's library and needs without opening it: where the file is and
// who may write it, the processor's features, the libraries that it wants. Reads files, runs
// nothing.
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

/// The same of a part (Manifest::parts) in the place of the library.
std::string resolve_part(const Manifest& manifest, size_t part, const std::string& manifest_file,
                         const TrustedWriters& writers);

/// INVALID_ARGUMENT: the manifest has a digest and the file another one; both of them.
void check_digest(const Manifest& manifest, const std::string& manifest_file,
                  const LibraryFile& library);

/// What the processor lacks and the manifest requires, as "the processor feature amx_tile".
std::vector<std::string> missing_cpu_features(const Manifest& manifest);

/// Libraries that the manifest requires or that the library is linked with, and that the dynamic
/// loader would not find: "the library libcuda.so.1 (install the driver)".
std::vector<std::string> missing_libraries(const Manifest& manifest, const std::string& library,
                                           const DynamicSection& section, Machine& machine);

/// The same of any library, and of those behind it: what `library` is linked with, what that is
/// linked with, and so on. Each with the file that asks for it. INVALID_ARGUMENT, ABI_MISMATCH: it
/// is no library for this processor.
std::vector<std::string> missing_behind(const std::string& library, Machine& machine);

/// Libraries that the provider brings in its own folders and would not get, because the process has
/// another file of that name: a sentence for each.
std::vector<std::string> library_clashes(const std::string& library, const DynamicSection& section);

/// A library that a provider brings: linked with it, or with another one that it brings, and found
/// in a folder that the provider's own lies in or above.
struct BundledLibrary {
  std::string name;  ///< as it is linked with
  std::string path;
};
std::vector<BundledLibrary> bundled_libraries(const std::string& library);

}  // namespace gantry

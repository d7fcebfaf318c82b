// SPDX-License-Identifier: Apache-2.0
// What can be checked of a provider's library and needs without opening it: where the file is and
// who may write it, the processor's features, the libraries that it wants. Reads files, runs
// nothing.
#pragma once

#include <string>

#include "plugin/manifest.h"

namespace gantry {

/// The library of a manifest file: absolute, links resolved. INVALID_ARGUMENT: the path leaves the
/// manifest's folder. NOT_FOUND: no such file. UNAVAILABLE: everybody may write the manifest or the
/// library.
std::string resolve_library(const Manifest& manifest, const std::string& manifest_file);

/// UNAVAILABLE: the processor lacks a feature, or a library is not to be found; all of them named.
void check_requirements(const Manifest& manifest, const std::string& library);

}  // namespace gantry

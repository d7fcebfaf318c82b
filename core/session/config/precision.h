// SPDX-License-Identifier: Apache-2.0
// /session/precision sets the option "precision" of every provider that has the option and accepts
// the value. The manifests define the values, not the core. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "plugin/discovery/manifest.h"

namespace gantry {

/// The default precision of float32 computations, which every provider supports.
inline constexpr const char* kFullPrecision = "f32";

/// True if the manifest has the option and its schema accepts the value.
bool takes_precision(const Manifest& manifest, const std::string& precision);

/// The options of a provider, JSON: `own`, with the session's precision added if the provider
/// accepts it and `own` has none.
std::string with_precision(const Manifest& manifest, const std::string& own,
                           const std::string& precision);

/// `no provider of CPU computes in "tf32"; "onednn" takes f32 and bf16`. `where`: "of CPU", or "on
/// this ...".
std::string precision_refusal(const std::vector<const Manifest*>& manifests,
                              const std::string& where, const std::string& precision);

}  // namespace gantry

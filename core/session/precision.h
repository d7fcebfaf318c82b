// SPDX-License-Identifier: Apache-2.0
// /session/precision is the option "precision" of every provider that has one and takes the value:
// which values there are is said by the manifests, not by the core. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "plugin/discovery/manifest.h"

namespace gantry {

/// What a session computes float32 in if nothing is said, which every provider does.
inline constexpr const char* kFullPrecision = "f32";

/// True if the manifest has the option and its schema takes the value.
bool takes_precision(const Manifest& manifest, const std::string& precision);

/// The options of a provider, JSON: `own`, with the session's precision if the provider takes it
/// and they have none.
std::string with_precision(const Manifest& manifest, const std::string& own,
                           const std::string& precision);

/// `no provider of CPU computes in "tf32"; "onednn" takes f32 and bf16`; `where`: of, or on this.
std::string precision_refusal(const std::vector<const Manifest*>& manifests,
                              const std::string& where, const std::string& precision);

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// The files of plugin_sdk/skeleton, compiled in so that `gantry provider new` needs no other file.
#pragma once

namespace gantry::cli {

/// Templates in which "skeleton", "SKELETON" and "Skeleton" are placeholders for the provider's
/// name, device type and class.
extern const char* const kSkeletonBuild;     ///< CMakeLists.txt
extern const char* const kSkeletonSource;    ///< skeleton.cc
extern const char* const kSkeletonManifest;  ///< skeleton.json

}  // namespace gantry::cli

// SPDX-License-Identifier: Apache-2.0
// The files of plugin_sdk/skeleton, compiled in so that `gantry provider new` needs no other file.
#pragma once

namespace gantry::cli {

/// Texts in which "skeleton", "SKELETON" and "Skeleton" stand for the provider's name, its device
/// type and its class.
extern const char* const kSkeletonBuild;     ///< CMakeLists.txt
extern const char* const kSkeletonSource;    ///< skeleton.cc
extern const char* const kSkeletonManifest;  ///< skeleton.json

}  // namespace gantry::cli

// SPDX-License-Identifier: Apache-2.0
// The compiled-model cache: files of compiled models in a folder, which later starts load
// (session.artefact_cache of the configuration). Plain data.
#pragma once

#include <gantry/runtime.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gantry {

/// How the cache was used when a session was made.
struct ArtefactReport {
  /// "off": no cache is configured, or this session cannot use it (reason); "empty": nothing of
  /// this model can be cached; "used": loaded from the cache; "made": there was no file, and one
  /// was written; "rebuilt": a file could not be used, or not all of it, and was replaced; "not
  /// kept": the file could not be written
  std::string state = "off";
  std::string file;    ///< path of the cache file; empty: none
  std::string reason;  ///< of "off" (empty: none configured), "rebuilt", "not kept": a sentence
  uint64_t size_bytes = 0;  ///< of the file
};

/// A file of the cache.
struct ArtefactEntry {
  std::filesystem::path file;
  uint64_t size_bytes = 0;
  int64_t used_s = 0;  ///< time of the last write or use, in seconds since 1970 (UTC)
};

struct ArtefactCache {
  std::filesystem::path folder;  ///< empty: no cache is configured
  uint64_t limit_bytes = 0;
  std::vector<ArtefactEntry> entries;  ///< most recently used first
};

/// The cache of a runtime's configuration and its files.
ArtefactCache artefact_cache(Runtime& runtime);
/// Removes all files of the cache; returns their size in bytes. Sessions that use one are not
/// affected.
uint64_t clear_artefact_cache(Runtime& runtime);

}  // namespace gantry

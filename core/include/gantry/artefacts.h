// SPDX-License-Identifier: Apache-2.0
// Compiled artefacts: what compiling a model made, kept in a folder for the next start
// (session.artefact_cache of the configuration). Plain data.
#pragma once

#include <gantry/runtime.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gantry {

/// What came of the cache when a session was made.
struct ArtefactReport {
  /// "off": no cache is configured; "empty": nothing of this model can be kept; "used"; "made":
  /// there was none; "rebuilt": there was one that could not be used, or not all of it; "not kept":
  /// it could not be written
  std::string state = "off";
  std::string file;         ///< empty: none
  std::string reason;       ///< of "rebuilt" and "not kept": one sentence
  uint64_t size_bytes = 0;  ///< of the file
};

/// A file of the cache.
struct ArtefactEntry {
  std::filesystem::path file;
  uint64_t size_bytes = 0;
  int64_t used_s = 0;  ///< when it was made or used last, in seconds since 1970
};

struct ArtefactCache {
  std::filesystem::path folder;  ///< empty: no cache is configured
  uint64_t limit_bytes = 0;
  std::vector<ArtefactEntry> entries;  ///< used last first
};

/// The cache of a runtime's configuration, and what is in it.
ArtefactCache artefact_cache(Runtime& runtime);
/// Removes every artefact of it; returns how many bytes that were. Sessions that use one go on.
uint64_t clear_artefact_cache(Runtime& runtime);

}  // namespace gantry

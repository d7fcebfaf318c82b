// SPDX-License-Identifier: Apache-2.0
// A candidate provider, from its manifest file to its function table, and all checks that run none
// of its code. One thread.
#pragma once

#include <gantry/error.h>
#include <gantry/provider.h>
#include <gantry/runtime.h>

#include <memory>
#include <string>
#include <vector>

#include "plugin/discovery/discovery.h"
#include "plugin/discovery/library_file.h"
#include "plugin/discovery/machine.h"
#include "plugin/discovery/manifest.h"
#include "plugin/discovery/site_policy.h"
#include "plugin/discovery/trusted_path.h"
#include "plugin/provider.h"

namespace gantry {

struct ProviderCandidate {
  ProviderReport row;
  ManifestFile file;
  Manifest manifest;     ///< name is empty if the file could not be read
  int64_t priority = 0;  ///< the manifest's, or the configuration's
  FileIdentity library;  ///< of the file that was checked
  DynamicSection needs;  ///< of the library
  gantry_provider_entry entry = nullptr;
  std::shared_ptr<PluginProvider> provider;
  bool is_to_be_tried_again = false;  ///< rejected for a reason that may pass: retry on next use

  [[nodiscard]] bool is_usable() const { return row.state == "ready" || row.state == "not opened"; }
  [[nodiscard]] bool is_bundled() const { return file.place == ManifestFile::Place::kBundled; }
  [[nodiscard]] bool lists(const std::string& type) const;
  /// Rejects the candidate with the error's code and message; the hint depends on the stage.
  void reject(const Error& error);
};

/// What the checks need besides the candidate.
struct CheckContext {
  const SitePolicy& policy;
  Machine& machine;
  const TrustedWriters& writers;
};

/// Chooses the build that this machine can use and checks its file: location, owners, digest,
/// policy, ELF file, note, requirements. Sets library, digest, dependencies and stage of the
/// candidate, and replaces its manifest by that of the build. Throws the error for the report row.
void check_library(ProviderCandidate& candidate, const CheckContext& context);

/// Why parts of a candidate (Manifest::parts) cannot be opened: a sentence for each such part.
/// Reads files and opens no library.
std::vector<std::string> part_warnings(const ProviderCandidate& candidate, Machine& machine,
                                       const TrustedWriters& writers);

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// A provider that a manifest describes, from its file to its table, and every check that runs none
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
  Manifest manifest;     ///< name is empty if it could not be read
  int64_t priority = 0;  ///< the manifest's, or the configuration's
  FileIdentity library;  ///< as it was checked
  DynamicSection needs;  ///< of the library
  gantry_provider_entry entry = nullptr;
  std::shared_ptr<PluginProvider> provider;
  bool is_to_be_tried_again = false;  ///< why it was rejected may be gone when it is next wanted

  [[nodiscard]] bool is_usable() const { return row.state == "ready" || row.state == "not opened"; }
  [[nodiscard]] bool is_bundled() const { return file.place == ManifestFile::Place::kBundled; }
  [[nodiscard]] bool lists(const std::string& type) const;
  /// Ends its way with what was thrown; the hint follows from where it stopped.
  void reject(const Error& error);
};

/// What checks of candidates depend on beside the candidate.
struct CheckContext {
  const SitePolicy& policy;
  Machine& machine;
  const TrustedWriters& writers;
};

/// Chooses the build that this machine can use and checks its file: place, owners, digest, policy,
/// ELF file, note, requirements. Sets library, digest, dependencies and stage of the candidate, and
/// makes its manifest that of the build. Throws what the row shall say.
void check_library(ProviderCandidate& candidate, const CheckContext& context);

/// What stands against opening the parts of a candidate's manifest: a sentence for each part.
/// Reads files and opens no library.
std::vector<std::string> part_warnings(const ProviderCandidate& candidate, Machine& machine,
                                       const TrustedWriters& writers);

}  // namespace gantry

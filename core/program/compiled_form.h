// SPDX-License-Identifier: Apache-2.0
// Reads and writes the compiled form of one claim (gantry_compile.blob, gantry_kernel.serialize) in
// the compiled-model cache. Its key is a description of the claim. One thread.
#pragma once

#include <string>

#include "artefact/artefact.h"
#include "placement/graph_placement.h"

namespace gantry {

class CompiledForm {
 public:
  /// Sets the blob of `args` if the artefact has one for the claim. `artefact` null: no cache.
  CompiledForm(Artefact* artefact, const Claim& claim, gantry_compile& args);
  /// Stores the kernel's compiled form in the artefact. Requires that the kernel is compiled.
  void keep(const std::string& label, const gantry_kernel& kernel) const;

 private:
  Artefact* artefact_;
  std::string claim_;
};

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// The compiled form of one claim on its way between its provider and the artefact: named by all
// that the core knows of the claim, given to compile, taken from the kernel. One thread.
#pragma once

#include <string>

#include "artefact/artefact.h"
#include "placement/graph_placement.h"

namespace gantry {

class CompiledForm {
 public:
  /// `artefact` may be null: then nothing happens. Puts the blob, if there is one, into `args`.
  CompiledForm(Artefact* artefact, const Claim& claim, gantry_compile& args);
  /// After the kernel was compiled.
  void keep(const std::string& label, const gantry_kernel& kernel) const;

 private:
  Artefact* artefact_;
  std::string claim_;
};

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// What building a program takes besides the placement, and how it fails.
#pragma once

#include <cstdint>
#include <utility>

#include "placement/graph_placement.h"

namespace gantry {

class Artefact;
class OnnxModel;
class Trace;

/// What building a program needs besides the placement.
struct BuildOptions {
  /// outputs get memory of their own (the main graph); bodies hand theirs to the node
  bool leaves_session = true;
  Trace* trace = nullptr;  ///< takes a span for each kernel that is compiled
  uint32_t threads = 0;    ///< that a run may use; 0: not known
  /// each kernel's mark is the number of its step, from 1, and no provider's
  bool marks_steps = false;
  /// has the functions that nodes call, for providers that want theirs as a model; null: none
  const OnnxModel* model = nullptr;
  /// gives compiled forms to the providers and takes them; null: none are kept
  Artefact* artefact = nullptr;
};

/// A provider could not compile what it had claimed.
class CompileFailure : public Error {
 public:
  CompileFailure(const Error& error, FailedClaim which) : Error(error), claim(std::move(which)) {}
  FailedClaim claim;
};

}  // namespace gantry

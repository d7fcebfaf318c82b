// SPDX-License-Identifier: Apache-2.0
// The options of building a program, and its failure.
#pragma once

#include <cstdint>
#include <utility>

#include "placement/graph_placement.h"

namespace gantry {

class Artefact;
class OnnxModel;
class Trace;

/// The options of building a program.
struct BuildOptions {
  /// true: the main graph, whose outputs have memory of their own; false: a body, whose outputs go
  /// to its node
  bool leaves_session = true;
  Trace* trace = nullptr;  ///< receives a span for each kernel compiled
  uint32_t threads = 0;    ///< number of threads that a run may use; 0: not known
  /// Step::mark is the number of the step, from 1, instead of a mark of its provider
  bool marks_steps = false;
  /// has the functions that nodes call, for gantry_host.fragment_model; null: none
  const OnnxModel* model = nullptr;
  /// cache entry to read compiled forms from and write them to; null: none
  Artefact* artefact = nullptr;
};

/// A provider could not compile what it had claimed.
class CompileFailure : public Error {
 public:
  CompileFailure(const Error& error, FailedClaim which) : Error(error), claim(std::move(which)) {}
  FailedClaim claim;
};

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// The plan that stands in an artefact: the graph as passes left it, with constants in the model's
// files where they lie, and what a session needs of the model beside the graph. A session that
// takes it does not read the model. Pure functions, any thread.
#pragma once

#include <memory>
#include <vector>

#include "artefact/artefact_file.h"
#include "base/mapped_file.h"
#include "session/plan_model.h"

namespace gantry {

/// The parts of a plan as they are written.
struct PlanParts {
  std::vector<std::byte> model;
  std::vector<std::byte> graph;
};

/// The parts for an artefact, to be made before constants are released. Empty: the plan is not to
/// be kept, since providers may ask for functions of the model, rules speak of nodes that passes
/// took away, a run may replace the default of an input, or a constant is no dense tensor. Requires
/// `planned.model`.
PlanParts to_parts(const PlannedModel& planned, const ModelSource& source);

/// Appends them, or, where there are none, the ones of `kept` (may be null).
void add_parts(const PlanParts& plan, const ArtefactFile* kept, std::vector<ArtefactPart>& parts);

bool has_plan(const ArtefactFile& file);

using ModelFiles = std::vector<std::shared_ptr<const MappedFile>>;

/// Maps the files of the model that a plan was made of. Requires a verified file that has one.
/// INVALID_ARGUMENT: it is not as to_parts made it. Else as MappedFile::open.
ModelFiles open_files_of_plan(const ArtefactFile& file, FileAccess access);

/// The plan, not placed. Requires files with the content of those that it was made of. Constants
/// keep what they lie in. INVALID_ARGUMENT: it is not as to_parts made it.
PlannedModel read_plan(const std::shared_ptr<const ArtefactFile>& file, const ModelFiles& files,
                       const ModelSource& source);

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// The plan in an artefact: the graph after the passes, whose constants refer to the model's files,
// and the model's metadata. A session that uses the plan does not import the model. Pure functions,
// any thread.
#pragma once

#include <memory>
#include <vector>

#include "artefact/artefact_file.h"
#include "base/mapped_file.h"
#include "session/plan/plan_model.h"

namespace gantry {

/// The serialized parts of a plan.
struct PlanParts {
  std::vector<std::byte> model;
  std::vector<std::byte> graph;
};

/// Serializes a plan. Call it before constants are released. Empty: the plan cannot be cached,
/// because the model has functions of its own, the configuration has placement rules, an input has
/// a constant default that a run may replace, a constant is no dense tensor, or a name is not
/// UTF-8. Requires `planned.model`.
PlanParts to_parts(const PlannedModel& planned, const ModelSource& source);

/// Appends the parts of `plan` to `parts`; in place of an empty part that of `kept` (may be null).
void add_parts(const PlanParts& plan, const ArtefactFile* kept, std::vector<ArtefactPart>& parts);

bool has_plan(const ArtefactFile& file);

using ModelFiles = std::vector<std::shared_ptr<const MappedFile>>;

/// Maps the files of the model from which the plan was made. Requires a verified file with a plan.
/// INVALID_ARGUMENT: the parts are not those that to_parts writes. Else as MappedFile::open.
ModelFiles open_files_of_plan(const ArtefactFile& file, FileAccess access);

/// Reads the plan, not placed. Requires that the files have the content they had when the plan was
/// made. Constants hold the files that they refer to. INVALID_ARGUMENT: the parts are not those
/// that to_parts writes.
PlannedModel read_plan(const std::shared_ptr<const ArtefactFile>& file, const ModelFiles& files,
                       const ModelSource& source);

}  // namespace gantry

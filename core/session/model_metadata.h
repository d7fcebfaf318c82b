// SPDX-License-Identifier: Apache-2.0
// What is said of a model in messages and in the interface.
#pragma once

#include <gantry/model.h>

#include <string>
#include <vector>

#include "graph/graph.h"

namespace gantry {

/// How messages name a model: its path, or "model in memory".
std::string subject_of(const ModelSource& source);

/// Inputs of a model as users see them.
std::vector<ValueInfo> input_infos(const Graph& graph);
/// The same of its outputs: without the names that inference made up for extents that it did not
/// know, which the model does not have.
std::vector<ValueInfo> output_infos(const Graph& graph);

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// Metadata of a model for messages and the public interface.
#pragma once

#include <gantry/model.h>

#include <string>
#include <vector>

#include "graph/graph.h"

namespace gantry {

/// The name of a model in messages: its path, or "model in memory".
std::string subject_of(const ModelSource& source);

/// The inputs of a model as users see them.
std::vector<ValueInfo> input_infos(const Graph& graph);
/// The outputs of a model as users see them: without the names that shape inference generated for
/// unknown extents.
std::vector<ValueInfo> output_infos(const Graph& graph);

}  // namespace gantry

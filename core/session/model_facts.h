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

/// Inputs or outputs of a model as users see them.
std::vector<ValueInfo> infos_of(const std::vector<GraphValue*>& values);

}  // namespace gantry

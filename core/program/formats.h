// SPDX-License-Identifier: Apache-2.0
// In which memory order the values of a placed graph pass from kernel to kernel. Pure functions.
#pragma once

#include <unordered_map>

#include "graph/graph.h"
#include "placement/graph_placement.h"

namespace gantry {

/// True if both name the same order, blocks and private layout.
bool is_same(const gantry_format& a, const gantry_format& b);

/// True if a slot with this port may be given a value in that format.
bool accepts(const Port& port, const gantry_format& format);

/// The format of each value that is made in another one than the dense: the first of those that its
/// producer offers which a reader on the same device takes, if every reader does or the producer's
/// provider can bring it into the dense order for the rest (its `reorder` slot). Pure orders of the
/// dimensions only; blocks and private layouts are not granted. Takes time in the size of the
/// graph.
std::unordered_map<const GraphValue*, gantry_format> assign_formats(
    const GraphPlacement& placement);

}  // namespace gantry

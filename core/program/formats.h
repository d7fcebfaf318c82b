// SPDX-License-Identifier: Apache-2.0
// Chooses the memory formats of the values of a placed graph. Pure functions.
#pragma once

#include <unordered_map>

#include "graph/graph.h"
#include "placement/graph_placement.h"

namespace gantry {

/// True if both have the same order, block and private id.
bool is_same(const gantry_format& a, const gantry_format& b);

/// True if a slot with this port may be given a value in that format.
bool accepts(const Port& port, const gantry_format& format);

/// The format of each value that is not dense: the first format that its producer offers and a
/// reader on the same device accepts, provided that every reader accepts it or the producer's
/// provider can reorder the value to dense order (gantry_provider_api.reorder). Only orders of the
/// axes are granted, no blocks and no private formats. Takes time linear in the graph.
std::unordered_map<const GraphValue*, gantry_format> assign_formats(
    const GraphPlacement& placement);

}  // namespace gantry

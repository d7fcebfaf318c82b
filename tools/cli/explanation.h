// SPDX-License-Identifier: Apache-2.0
// What `gantry explain` reports of a model: its placement, its costs, and what was measured. Made
// once; the text, the JSON and the page all show it.
#pragma once

#include <gantry/session.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "output.h"

namespace gantry::cli {

struct Explanation {
  std::string model;
  std::string device;  ///< that was asked for, for people
  Placement placement;
  std::optional<MemoryUse> memory;        ///< of a model that can be built
  uint64_t model_weights = 0;             ///< likewise, in bytes as the model has them
  ArtefactReport artefact;                ///< likewise
  bool has_run = false;                   ///< then the arena is known
  std::map<std::string, double> time_ns;  ///< by node: measured, of one run
};

/// Nodes that run, but not where they were preferred, by the reason; most frequent first.
struct Refusal {
  std::string reason;
  size_t nodes = 0;
};
std::vector<Refusal> refusals_of(const Placement& placement);

/// True for a node with a device that is not the preferred one, of which its reason tells.
bool is_elsewhere(const NodePlacement& node);

/// The most bytes of values that are alive at once in the main graph, run node by node, weights
/// left out. 0 if the run decides the shape of one of them: what is left would say nothing.
uint64_t activation_bytes(const Placement& placement);

/// The mean time of each node in a run, from a trace file of `gantry bench --profile` or
/// session.profile: on its device's stream if there is one, else on the host. The first run is left
/// out if there are more, and so are runs that launched captures. NOT_FOUND: no such file.
/// INVALID_ARGUMENT: it is no such trace.
std::map<std::string, double> read_node_times(const std::filesystem::path& trace);

/// Keys as docs/command-line.md lists them.
Json to_json(const Explanation& explanation);

/// The page: one HTML file that needs nothing else. UNAVAILABLE: it cannot be written.
void write_page(const std::filesystem::path& file, const Explanation& explanation);

}  // namespace gantry::cli

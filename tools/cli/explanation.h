// SPDX-License-Identifier: Apache-2.0
// The report of `gantry explain`: the placement of a model, its costs and measured times. The text,
// the JSON and the HTML page are all made from it.
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
  std::string device;  ///< the requested device, for display
  Placement placement;
  std::optional<MemoryUse> memory;        ///< if the session could be created
  uint64_t model_weights = 0;             ///< bytes of the weights in the model file; likewise
  ArtefactReport artefact;                ///< likewise
  bool has_run = false;                   ///< the session has run, so the arena size is known
  std::map<std::string, double> time_ns;  ///< measured time of a run, by node
};

/// Nodes that do not run on their preferred device, counted by reason; refusals_of() returns the
/// most frequent first.
struct Refusal {
  std::string reason;
  size_t nodes = 0;
};
std::vector<Refusal> refusals_of(const Placement& placement);

/// True if the node runs on another device than the preferred one; its reason is then the refusal.
bool is_elsewhere(const NodePlacement& node);

/// Peak bytes of live values in the main graph, run node by node, without weights. 0 if a shape is
/// only known at run time.
uint64_t activation_bytes(const Placement& placement);

/// The mean time of each node in a run, from a trace file of `gantry bench --profile` or
/// session.profile: on its device's stream if there is one, otherwise on the host. The first of
/// several runs is ignored, as are runs that launched captures. Throws NOT_FOUND if there is no
/// such file, INVALID_ARGUMENT if it is not such a trace.
std::map<std::string, double> read_node_times(const std::filesystem::path& trace);

/// The JSON document, with the keys of docs/command-line.md.
Json to_json(const Explanation& explanation);

/// Writes a self-contained HTML page. Throws UNAVAILABLE if it cannot be written.
void write_page(const std::filesystem::path& file, const Explanation& explanation);

}  // namespace gantry::cli

// SPDX-License-Identifier: Apache-2.0
// What a provider is told of a session (OrtSessionOptions), and what it tells of a graph
// (OrtEpGraphSupportInfo). One thread.
#pragma once

#include <string>
#include <vector>

#include "ep_host/seen_graph.h"
#include "objects/execution_provider.h"
#include "objects/key_values.h"

namespace gantry::ort {

struct SessionEntries {
  KeyValues entries;
};

struct SupportedParts {
  struct Part {
    std::vector<uint32_t> ids;  ///< of nodes, ascending
    bool drops_constants;
  };
  std::vector<Part> parts;
  std::vector<const SeenNode*> single;  ///< what the provider would run node by node
};

struct FusedName {
  std::string node_name;
};

}  // namespace gantry::ort

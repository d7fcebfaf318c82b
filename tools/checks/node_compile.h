// SPDX-License-Identifier: Apache-2.0
// The compile arguments of a single node.
#pragma once

#include <gantry/provider.h>

#include <cstdint>
#include <vector>

#include "check.h"
#include "host_fragment.h"

namespace gantry::checks {

/// The arguments that compile node 0 of a graph with dense formats in every slot. Owns the arrays
/// that `args` points to; the graph and the subject must outlive it. One thread.
class NodeCompile {
 public:
  NodeCompile(uint32_t device, const gantry_graph* graph, uint64_t tag, const Subject& subject);
  NodeCompile(const NodeCompile&) = delete;
  NodeCompile& operator=(const NodeCompile&) = delete;

  gantry_compile args = {};

 private:
  uint32_t node_ = 0;
  std::vector<const gantry_format*> dense_;
  HostFragment fragment_;
};

}  // namespace gantry::checks

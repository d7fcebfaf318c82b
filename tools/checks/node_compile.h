// SPDX-License-Identifier: Apache-2.0
// What a host passes to compile for one node by itself.
#pragma once

#include <gantry/provider.h>

#include <cstdint>
#include <vector>

#include "check.h"
#include "host_fragment.h"

namespace gantry::checks {

/// The arguments of a compile of node 0 of a graph, every slot dense. Keeps what they point to; the
/// graph and the subject are borrowed. One thread.
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

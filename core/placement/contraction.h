// SPDX-License-Identifier: Apache-2.0
// The graph with the nodes of each claim contracted to one vertex, in topological order. Decides
// whether another set of nodes can be contracted without closing a cycle. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace gantry {

class Contraction {
 public:
  /// Each node is a vertex. The graph must be numbered (Graph::renumber) and outlive this.
  explicit Contraction(const Graph& graph);

  /// Contracts the nodes to one vertex. `nodes`: ids, ascending, not contracted so far. False, and
  /// nothing changed: a path leaves the set and returns to it. Takes time in the number of nodes
  /// between the first and the last of the set: the topological order is updated locally (after
  /// Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006).
  bool merge(const std::vector<uint32_t>& nodes);

 private:
  bool reaches_itself(const std::vector<uint32_t>& nodes, uint32_t last);
  void reorder(uint32_t first, uint32_t last, uint32_t merged);

  static constexpr uint32_t kNobody = UINT32_MAX;

  const Graph& graph_;
  std::vector<uint32_t> vertex_;                // by node; a vertex has the id of its first node
  std::vector<std::vector<uint32_t>> members_;  // by vertex, only those of several nodes
  std::vector<uint32_t> position_;              // by vertex
  std::vector<uint32_t> order_;                 // by position: vertex, or kNobody
  std::vector<uint32_t> marks_;  // by vertex: mark_ of the last merge that visited it
  uint32_t mark_ = 0;            // in the set: mark_; reached from it: mark_ + 1
};

}  // namespace gantry

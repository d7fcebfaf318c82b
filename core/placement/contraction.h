// SPDX-License-Identifier: Apache-2.0
// The graph with the nodes of each claim drawn together to one vertex, kept in an order in which
// every vertex stands after those it reads from. Tells whether one more set can be drawn together
// without closing a cycle. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace gantry {

class Contraction {
 public:
  /// Each node by itself. The graph must be numbered (Graph::renumber) and outlive this.
  explicit Contraction(const Graph& graph);

  /// Draws the nodes (ids, ascending, each by itself so far) together. False, and nothing changed:
  /// a path would leave the set and return. Takes time in the number of nodes that stand between
  /// the first and the last of the set, not in that of the graph: the order is mended locally
  /// (after Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs",
  /// 2006).
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
  std::vector<uint32_t> marks_;                 // by vertex: the merge that met it last
  uint32_t mark_ = 0;                           // in the set: mark_; reached from it: mark_ + 1
};

}  // namespace gantry

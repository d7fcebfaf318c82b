// SPDX-License-Identifier: Apache-2.0
// The gantry_graph of claim and compile calls. Owns every struct and array of the view; borrows
// names and constants from the graph, which must not change while the view is used. Built in linear
// time by one thread, then read by any.
#pragma once

#include <gantry/provider.h>

#include <memory>
#include <vector>

#include "graph/graph.h"

namespace gantry {

class GraphView {
 public:
  /// Node and value indices of the view are the graph's ids, so the graph must be renumbered
  /// (Graph::renumber).
  explicit GraphView(const Graph& graph);
  ~GraphView();
  GraphView(GraphView&&) noexcept;
  GraphView& operator=(GraphView&&) noexcept;

  [[nodiscard]] const gantry_graph* get() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gantry

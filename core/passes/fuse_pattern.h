// SPDX-License-Identifier: Apache-2.0
// What passes that fuse a pattern of nodes to one node share.
#pragma once

#include <vector>

#include "passes/pipeline.h"
#include "passes/replace.h"

namespace gantry {

/// Fuses the patterns of a graph; true if there were any.
/// `match_of(node)`: the pattern of which the node is the root; its `result` is the value that the
/// pattern ends in, null if there is no pattern. One within a fusion group is left to its provider.
/// `make(graph, match)`: adds the one node, without outputs. All patterns are found before the
/// first is fused, so `match_of` must not find one whose nodes another needs.
template <class Match>
bool fuse_pattern(Graph& graph, const PassContext& context, Match (*match_of)(const Node&),
                  Node* (*make)(Graph&, const Match&)) {
  std::vector<Match> found;
  for (const auto& node : graph.nodes()) {
    const Match match = match_of(*node);
    if (match.result && !are_taken_together(context, *node, *match.result->producer))
      found.push_back(match);
  }
  for (const Match& match : found) take_over(graph, match.result, make(graph, match));
  if (!found.empty()) {
    graph.sweep();
    graph.sort();
  }
  return !found.empty();
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// Removes captures of constants, which the bodies then have themselves, and captures that no body
// reads.
//
//   %c = int64[1] {3}                                  %c = int64[1] {3}
//   %y = If-16(%b) captures (%c) {...: %c : int64[1]}  =>  %y = If-16(%b) {...: %c = int64[1] {3}}
#include <algorithm>

#include "passes/pipeline.h"
#include "passes/replace.h"

namespace gantry {
namespace {

bool is_read(const Graph& body, size_t capture) {
  const GraphValue* inside = body.captures[capture];
  return inside && inside->is_read();
}

}  // namespace

bool capture_constants(Graph& graph, const PassContext&) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    const std::vector<Graph*> bodies = node->bodies();
    for (size_t i = node->captures.size(); i-- > 0;) {
      const ValueRef& constant = node->captures[i]->constant;
      const auto reads = [&](const Graph* body) { return is_read(*body, i); };
      if (!constant && std::any_of(bodies.begin(), bodies.end(), reads)) continue;
      for (Graph* body : bodies) {
        if (constant && body->captures[i]) make_constant(body->captures[i], constant);
      }
      graph.drop_capture(node.get(), i);
      changed = true;
    }
    if (changed) {
      for (Graph* body : bodies) body->sweep();
    }
  }
  if (changed) graph.sweep();
  return changed;
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
#include "placement/contraction.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"

namespace gantry {

Contraction::Contraction(const Graph& graph)
    : graph_(graph),
      vertex_(graph.nodes().size()),
      members_(graph.nodes().size()),
      position_(graph.nodes().size()),
      order_(graph.nodes().size()),
      marks_(graph.nodes().size(), 0) {
  std::iota(vertex_.begin(), vertex_.end(), 0U);
  position_ = vertex_;
  order_ = vertex_;
}

bool Contraction::merge(const std::vector<uint32_t>& nodes) {
  if (nodes.size() < 2) return true;
  uint32_t first = kNobody;
  uint32_t last = 0;
  mark_ += 2;
  for (const uint32_t node : nodes) {
    marks_[node] = mark_;
    first = std::min(first, position_[node]);
    last = std::max(last, position_[node]);
  }
  if (reaches_itself(nodes, last)) return false;
  reorder(first, last, nodes.front());
  for (const uint32_t node : nodes) vertex_[node] = nodes.front();
  members_[nodes.front()] = nodes;
  return true;
}

// Marks the vertices that the set reaches up to position `last`; true if a path returns to the set.
// Beyond `last` no path returns.
bool Contraction::reaches_itself(const std::vector<uint32_t>& nodes, uint32_t last) {
  std::vector<uint32_t> pending;
  const auto leave = [&](uint32_t node, bool is_inside) {
    for (const GraphValue* output : graph_.nodes()[node]->outputs) {
      if (!output) continue;
      for (const Node* user : output->users) {
        const uint32_t to = vertex_[user->id];
        if (marks_[to] == mark_ && !is_inside) return false;
        if (marks_[to] >= mark_ || position_[to] > last) continue;
        marks_[to] = mark_ + 1;
        pending.push_back(to);
      }
    }
    return true;
  };
  for (const uint32_t node : nodes) leave(node, true);
  while (!pending.empty()) {
    const uint32_t vertex = pending.back();
    pending.pop_back();
    if (members_[vertex].empty()) {
      if (!leave(vertex, false)) return true;
      continue;
    }
    for (const uint32_t member : members_[vertex]) {
      if (!leave(member, false)) return true;
    }
  }
  return false;
}

// Reorders the vertices between the two positions: first those that the set does not reach, then
// the set, then those that it reaches, each part in its old order.
void Contraction::reorder(uint32_t first, uint32_t last, uint32_t merged) {
  std::vector<uint32_t> before;
  std::vector<uint32_t> after;
  for (uint32_t place = first; place <= last; ++place) {
    const uint32_t vertex = order_[place];
    order_[place] = kNobody;
    if (vertex == kNobody || marks_[vertex] == mark_) continue;
    (marks_[vertex] == mark_ + 1 ? after : before).push_back(vertex);
  }
  before.push_back(merged);
  before.insert(before.end(), after.begin(), after.end());
  GANTRY_ASSERT(before.size() <= last - first + 1,
                "drawing nodes together takes no more positions");
  for (uint32_t i = 0; i < before.size(); ++i) {
    order_[first + i] = before[i];
    position_[before[i]] = first + i;
  }
}

}  // namespace gantry

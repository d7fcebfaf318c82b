// SPDX-License-Identifier: Apache-2.0
#include "program/groups.h"

#include <map>
#include <queue>

namespace gantry {

std::vector<Group> ordered_groups(const GraphPlacement& placement) {
  const auto& nodes = placement.graph->nodes();
  std::vector<Group> groups;
  std::vector<size_t> group_of(nodes.size());
  std::map<int, size_t> of_claim;
  for (const auto& node : nodes) {
    const int owner = placement.owner[node->id];
    if (owner >= 0) {
      const auto [found, is_new] = of_claim.try_emplace(owner, groups.size());
      if (is_new)
        groups.push_back({&placement.claims[static_cast<size_t>(owner)], nullptr, node->id});
      group_of[node->id] = found->second;
    } else {
      group_of[node->id] = groups.size();
      groups.push_back({nullptr, node.get(), node->id});
    }
  }
  std::vector<std::vector<size_t>> readers(groups.size());
  std::vector<size_t> missing(groups.size(), 0);
  for (const auto& node : nodes) {
    for (const GraphValue* output : node->outputs) {
      if (!output) continue;
      for (const Node* user : output->users) {
        if (group_of[user->id] == group_of[node->id]) continue;
        readers[group_of[node->id]].push_back(group_of[user->id]);
        ++missing[group_of[user->id]];
      }
    }
  }
  const auto later = [&](size_t a, size_t b) { return groups[a].first > groups[b].first; };
  std::priority_queue<size_t, std::vector<size_t>, decltype(later)> ready(later);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  std::vector<Group> order;
  while (!ready.empty()) {
    const size_t group = ready.top();
    ready.pop();
    order.push_back(groups[group]);
    for (const size_t reader : readers[group]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() != groups.size()) throw Error(Code::kInternal, "the placed graph has a cycle");
  return order;
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
#include "plugin_ep/parts.h"

#include <algorithm>
#include <map>

namespace gantry::ort {
namespace {

template <class Function>
void for_each_read(const NodeValues& node, Function&& function) {
  for (const auto* names : {&node.inputs, &node.captured}) {
    for (const std::string& name : *names) {
      if (!name.empty()) function(name);
    }
  }
}

/// The level of each node: the largest of those it reads from, and one more for a taken node behind
/// one that is not. Taken nodes of one level are a part: a path between two of them through a node
/// that is not taken would have raised the level of the second.
std::vector<size_t> levels_of(const std::vector<NodeValues>& nodes,
                              const std::vector<bool>& is_taken) {
  std::map<std::string, size_t> makers;
  std::vector<size_t> levels(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for_each_read(nodes[i], [&](const std::string& name) {
      const auto maker = makers.find(name);
      if (maker == makers.end()) return;
      const bool goes_in = is_taken[i] && !is_taken[maker->second];
      levels[i] = std::max(levels[i], levels[maker->second] + (goes_in ? 1 : 0));
    });
    for (const std::string& name : nodes[i].outputs) makers[name] = i;
  }
  return levels;
}

/// Takes no node any more that makes or reads a value of `kept` which leaves its part. Returns
/// whether one was given up.
bool give_up(const std::vector<NodeValues>& nodes, const std::vector<size_t>& levels,
             const std::set<std::string>& kept, const std::set<std::string>& graph_outputs,
             std::vector<bool>& is_taken) {
  std::map<std::string, std::vector<size_t>> users;  // the maker too
  std::set<std::string> made;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for_each_read(nodes[i], [&](const std::string& name) { users[name].push_back(i); });
    for (const std::string& name : nodes[i].outputs) {
      users[name].push_back(i);
      made.insert(name);
    }
  }
  bool has_given_up = false;
  for (const std::string& name : kept) {
    const std::vector<size_t>& of = users[name];
    const bool stays = made.count(name) > 0 && graph_outputs.count(name) == 0 &&
                       std::all_of(of.begin(), of.end(), [&](size_t node) {
                         return is_taken[node] && levels[node] == levels[of.front()];
                       });
    if (stays) continue;
    for (const size_t node : of) {
      has_given_up |= is_taken[node];
      is_taken[node] = false;
    }
  }
  return has_given_up;
}

}  // namespace

std::vector<std::optional<size_t>> divide(const std::vector<NodeValues>& nodes,
                                          std::vector<bool> is_taken,
                                          const std::set<std::string>& kept,
                                          const std::set<std::string>& graph_outputs) {
  std::vector<size_t> levels = levels_of(nodes, is_taken);
  while (give_up(nodes, levels, kept, graph_outputs, is_taken)) levels = levels_of(nodes, is_taken);
  std::map<size_t, size_t> parts;  // by level
  std::vector<std::optional<size_t>> all(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (is_taken[i]) all[i] = parts.emplace(levels[i], parts.size()).first->second;
  }
  return all;
}

}  // namespace gantry::ort

// SPDX-License-Identifier: Apache-2.0
// The parts of a graph that gantry takes over from ONNX Runtime.
#include "plugin_ep/parts.h"

#include <gtest/gtest.h>
#include <random>

namespace gantry::ort {
namespace {

using Parts = std::vector<std::optional<size_t>>;

TEST(Parts, NodesAroundOneThatIsNotTakenAreTwoParts) {
  const std::vector<NodeValues> nodes = {
      {{"x"}, {}, {"a"}}, {{"a"}, {}, {"b"}}, {{"a"}, {}, {"c"}}, {{"b", "c"}, {}, {"y"}}};
  EXPECT_EQ(divide(nodes, {true, false, true, true}, {}, {"y"}), (Parts{0, std::nullopt, 0, 1}));
  EXPECT_EQ(divide(nodes, {true, true, true, true}, {}, {"y"}), (Parts{0, 0, 0, 0}));
}

TEST(Parts, WhatBodiesReadCounts) {
  const std::vector<NodeValues> nodes = {
      {{"x"}, {}, {"a"}}, {{"a"}, {}, {"b"}}, {{"c", ""}, {"b"}, {"y"}}};
  EXPECT_EQ(divide(nodes, {true, false, true}, {}, {"y"}), (Parts{0, std::nullopt, 1}));
}

TEST(Parts, AKeptValueTakesItsUsersAlong) {
  const std::vector<NodeValues> nodes = {
      {{"x"}, {}, {"s"}}, {{"s"}, {}, {"a"}}, {{"a"}, {}, {"b"}}, {{"s", "b"}, {}, {"y"}}};
  EXPECT_EQ(divide(nodes, {true, true, true, true}, {"s"}, {"y"}), (Parts{0, 0, 0, 0}));
  // The last reader is in another part, so nobody who touches the value stays.
  EXPECT_EQ(divide(nodes, {true, true, false, true}, {"s"}, {"y"}),
            (Parts{std::nullopt, std::nullopt, std::nullopt, std::nullopt}));
  EXPECT_EQ(divide(nodes, {true, true, true, true}, {"s"}, {"y", "s"}),
            (Parts{std::nullopt, std::nullopt, 0, std::nullopt}));
}

TEST(Parts, AKeptInputIsNotTaken) {
  const std::vector<NodeValues> nodes = {{{"s"}, {}, {"a"}}, {{"a"}, {}, {"y"}}};
  EXPECT_EQ(divide(nodes, {true, true}, {"s"}, {"y"}), (Parts{std::nullopt, 0}));
}

/// Whether the graph of parts and of single nodes has an order: no path leaves a part and comes
/// back.
bool has_order(const std::vector<NodeValues>& nodes, const Parts& parts) {
  const size_t count = nodes.size();
  const auto unit = [&](size_t node) { return parts[node] ? *parts[node] : count + node; };
  std::vector<std::vector<bool>> reaches(2 * count, std::vector<bool>(2 * count));
  for (size_t from = 0; from < count; ++from) {
    for (size_t to = 0; to < count; ++to) {
      for (const std::string& name : nodes[to].inputs) {
        if (name == nodes[from].outputs[0] && unit(from) != unit(to))
          reaches[unit(from)][unit(to)] = true;
      }
    }
  }
  for (size_t via = 0; via < 2 * count; ++via) {
    for (size_t from = 0; from < 2 * count; ++from) {
      for (size_t to = 0; to < 2 * count; ++to) {
        if (reaches[from][via] && reaches[via][to]) reaches[from][to] = true;
      }
    }
  }
  for (size_t i = 0; i < 2 * count; ++i) {
    if (reaches[i][i]) return false;
  }
  return true;
}

TEST(Parts, NoPathLeavesAPartAndComesBack) {
  constexpr int kGraphs = 300;
  constexpr size_t kMostNodes = 12;
  std::mt19937 random(1);
  const auto below = [&](size_t limit) { return random() % limit; };
  for (int graph = 0; graph < kGraphs; ++graph) {
    std::vector<NodeValues> nodes(2 + below(kMostNodes));
    std::vector<bool> is_taken;
    for (size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].outputs = {"v" + std::to_string(i)};
      for (size_t k = 0; i > 0 && k < 2; ++k) nodes[i].inputs.push_back(nodes[below(i)].outputs[0]);
      is_taken.push_back(below(3) > 0);
    }
    const Parts parts = divide(nodes, is_taken, {}, {});
    for (size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(parts[i].has_value(), is_taken[i]);
    ASSERT_TRUE(has_order(nodes, parts)) << "graph " << graph;
  }
}

}  // namespace
}  // namespace gantry::ort

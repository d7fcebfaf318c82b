// SPDX-License-Identifier: Apache-2.0
#include "placement/contraction.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>

namespace gantry {
namespace {

// `reads[i]`: nodes that node i reads from, all below i.
void build(Graph& graph, const std::vector<std::vector<uint32_t>>& reads) {
  std::vector<GraphValue*> outputs;
  for (const auto& from : reads) {
    Node* node = graph.add_node("Op", "", 1, "n");
    for (const uint32_t i : from) graph.add_input(node, outputs[i]);
    outputs.push_back(graph.add_value("v"));
    graph.add_output(node, outputs.back());
  }
  graph.renumber();
}

TEST(ContractionTest, ASetThatIsLeftAndReenteredIsRefused) {
  Graph graph;
  build(graph, {{}, {0}, {1}, {2}});
  Contraction contraction(graph);
  EXPECT_FALSE(contraction.merge({0, 2}));
  EXPECT_TRUE(contraction.merge({0, 1}));
  EXPECT_TRUE(contraction.merge({2, 3}));
}

TEST(ContractionTest, TwoSetsThatReadEachOtherAreNotBothTaken) {
  Graph graph;
  build(graph, {{}, {}, {0}, {1}});  // 0 -> 2, 1 -> 3
  Contraction contraction(graph);
  EXPECT_TRUE(contraction.merge({0, 3}));
  EXPECT_FALSE(contraction.merge({1, 2}));
}

// The plain way: contract, then look for a cycle by removing vertices that read nothing.
bool has_cycle(const std::vector<std::vector<uint32_t>>& reads,
               const std::vector<uint32_t>& vertex) {
  std::set<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t node = 0; node < reads.size(); ++node) {
    for (const uint32_t from : reads[node]) {
      if (vertex[from] != vertex[node]) edges.insert({vertex[from], vertex[node]});
    }
  }
  std::set<uint32_t> left(vertex.begin(), vertex.end());
  while (!left.empty()) {
    const auto source = std::find_if(left.begin(), left.end(), [&](uint32_t v) {
      return std::none_of(edges.begin(), edges.end(), [&](const auto& edge) {
        return edge.second == v && left.count(edge.first) > 0;
      });
    });
    if (source == left.end()) return true;
    left.erase(source);
  }
  return false;
}

TEST(ContractionTest, AgreesWithThePlainWayOnRandomGraphs) {
  std::mt19937 random(7);
  size_t taken = 0;
  size_t refused = 0;
  for (int round = 0; round < 300; ++round) {
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    const uint32_t count = 4 + below(20);
    std::vector<std::vector<uint32_t>> reads(count);
    for (uint32_t node = 1; node < count; ++node) {
      for (uint32_t i = below(3); i > 0; --i) reads[node].push_back(below(node));
    }
    Graph graph;
    build(graph, reads);
    Contraction contraction(graph);
    std::vector<uint32_t> vertex(count);
    std::iota(vertex.begin(), vertex.end(), 0U);
    std::set<uint32_t> free(vertex.begin(), vertex.end());
    for (int attempt = 0; attempt < 12 && free.size() > 2; ++attempt) {
      std::set<uint32_t> wanted;
      for (uint32_t i = 2 + below(3); i > 0; --i)
        wanted.insert(*std::next(free.begin(), below(static_cast<uint32_t>(free.size()))));
      if (wanted.size() < 2) continue;
      std::vector<uint32_t> merged = vertex;
      for (const uint32_t node : wanted) merged[node] = *wanted.begin();
      const bool expected = !has_cycle(reads, merged);
      ASSERT_EQ(contraction.merge({wanted.begin(), wanted.end()}), expected) << "round " << round;
      ++(expected ? taken : refused);
      if (!expected) continue;
      vertex = merged;
      for (const uint32_t node : wanted) free.erase(node);
    }
  }
  EXPECT_GT(taken, 300U);
  EXPECT_GT(refused, 300U);
}

}  // namespace
}  // namespace gantry

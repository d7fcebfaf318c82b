// SPDX-License-Identifier: Apache-2.0
// The trees of an ensemble, in one representation for all operator versions. Immutable once read,
// any thread.
#pragma once

#include <gantry/sdk/graph.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace gantry::cpu {

enum class Branch : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember };

/// What a leaf adds to the score of one target.
struct Vote {
  int64_t target;
  double weight;
};

/// An inner node. Children and roots are indices of nodes, or ~i for leaf i.
struct TreeNode {
  double split = 0;  ///< with kMember: the index of its set
  int64_t feature = 0;
  int64_t when_true = 0;
  int64_t when_false = 0;
  Branch branch = Branch::kLeq;
  bool missing_is_true = false;
};

/// The trees of a model. The read functions below return it checked: every index is valid and there
/// is no cycle.
class Forest {
 public:
  std::vector<TreeNode> nodes;
  std::vector<int64_t> roots;
  std::vector<std::vector<Vote>> leaves;
  std::vector<std::vector<double>> sets;  ///< sorted
  int64_t targets = 1;

  /// Number of features that rows must have.
  [[nodiscard]] int64_t features() const {
    int64_t most = 0;
    for (const TreeNode& node : nodes) most = std::max(most, node.feature + 1);
    return most;
  }

  /// Throws INVALID_MODEL if an index is invalid or the trees have a cycle.
  void check(const sdk::NodeView& view) const {
    const auto node_count = static_cast<int64_t>(nodes.size());
    const auto leaf_count = static_cast<int64_t>(leaves.size());
    const auto check_index = [&](int64_t index) {
      if (index >= node_count || ~index >= leaf_count)
        view.fail(GANTRY_INVALID_MODEL, "a tree refers to a node or leaf that is not there");
    };
    for (const int64_t root : roots) check_index(root);
    for (const TreeNode& node : nodes) {
      check_index(node.when_true);
      check_index(node.when_false);
      if (node.feature < 0) view.fail(GANTRY_INVALID_MODEL, "a feature id is negative");
    }
    for (const auto& leaf : leaves) {
      for (const Vote& vote : leaf) {
        if (vote.target < 0 || vote.target >= targets) {
          view.fail(GANTRY_INVALID_MODEL, "a leaf votes for target " + std::to_string(vote.target) +
                                              " of " + std::to_string(targets));
        }
      }
    }
    check_paths(view);
  }

  /// Index of the leaf that features `x` reach from `root`. Requires a checked forest.
  [[nodiscard]] int64_t find(int64_t root, const double* x) const {
    int64_t at = root;
    while (at >= 0) {
      const TreeNode& node = nodes[static_cast<size_t>(at)];
      at = goes_true(node, x[node.feature]) ? node.when_true : node.when_false;
    }
    return ~at;
  }

 private:
  [[nodiscard]] bool goes_true(const TreeNode& node, double x) const {
    if (node.missing_is_true && std::isnan(x)) return true;
    switch (node.branch) {
      case Branch::kLeq:
        return x <= node.split;
      case Branch::kLt:
        return x < node.split;
      case Branch::kGte:
        return x >= node.split;
      case Branch::kGt:
        return x > node.split;
      case Branch::kEq:
        return x == node.split;
      case Branch::kNeq:
        return x != node.split;
      case Branch::kMember: {
        const std::vector<double>& set = sets[static_cast<size_t>(node.split)];
        return !std::isnan(x) && std::binary_search(set.begin(), set.end(), x);
      }
    }
    return false;
  }

  /// Throws INVALID_MODEL if there is a cycle. Depth-first search without recursion, so deep trees
  /// cannot overflow the stack.
  void check_paths(const sdk::NodeView& view) const {
    enum : uint8_t { kNew, kOpen, kDone };
    std::vector<uint8_t> state(nodes.size(), kNew);
    std::vector<int64_t> stack;
    for (const int64_t root : roots) {
      if (root >= 0) stack.push_back(root);
      while (!stack.empty()) {
        const auto at = static_cast<size_t>(stack.back());
        if (state[at] != kNew) {
          state[at] = kDone;
          stack.pop_back();
          continue;
        }
        state[at] = kOpen;
        for (const int64_t child : {nodes[at].when_true, nodes[at].when_false}) {
          if (child < 0) continue;
          if (state[static_cast<size_t>(child)] == kOpen)
            view.fail(GANTRY_INVALID_MODEL, "a path of a tree returns to itself");
          if (state[static_cast<size_t>(child)] == kNew) stack.push_back(child);
        }
      }
    }
  }
};

/// TreeEnsembleClassifier and TreeEnsembleRegressor (versions 1 and 3): nodes, and the votes in
/// attributes with prefix `votes`, refer to nodes by tree and node ids. Throws INVALID_MODEL for
/// lists of different lengths, missing nodes, or a cycle.
Forest read_listed_forest(const sdk::NodeView& node, const std::string& votes, int64_t targets);

/// TreeEnsemble (version 5): nodes and leaves are referred to by index. Throws INVALID_MODEL
/// likewise.
Forest read_indexed_forest(const sdk::NodeView& node);

}  // namespace gantry::cpu

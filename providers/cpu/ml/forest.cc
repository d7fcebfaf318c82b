// SPDX-License-Identifier: Apache-2.0
#include "ml/forest.h"

#include <map>
#include <utility>

#include "ml/operands.h"

namespace gantry::cpu {
namespace {

Branch read_branch(const sdk::NodeView& node, const std::string& name) {
  constexpr const char* kNames[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                    "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  for (int i = 0; i < 6; ++i) {
    if (name == kNames[i]) return static_cast<Branch>(i);
  }
  node.fail(GANTRY_INVALID_MODEL, "\"" + name + "\" is no mode of a tree's node");
}

/// Reads versions 1 and 3, in which nodes and votes refer to nodes by tree and node ids.
class ListedForest {
 public:
  ListedForest(const sdk::NodeView& node, const std::string& votes) : node_(node), votes_(votes) {}

  Forest read(int64_t targets) {
    Forest forest;
    forest.targets = targets;
    const std::vector<int64_t> trees = node_.get_ints("nodes_treeids");
    const std::vector<int64_t> ids = node_.get_ints("nodes_nodeids");
    const std::vector<std::string> modes = node_.get_strings("nodes_modes");
    require_count(node_, "nodes_nodeids", ids, trees.size());
    require_count(node_, "nodes_modes", modes, trees.size());
    for (size_t i = 0; i < trees.size(); ++i) {
      const bool is_leaf = modes[i] == "LEAF";
      const int64_t index = is_leaf ? ~static_cast<int64_t>(forest.leaves.size())
                                    : static_cast<int64_t>(forest.nodes.size());
      if (!indices_.try_emplace({trees[i], ids[i]}, index).second) {
        node_.fail(GANTRY_INVALID_MODEL, "node " + std::to_string(ids[i]) + " of tree " +
                                             std::to_string(trees[i]) + " occurs twice");
      }
      if (is_leaf) {
        forest.leaves.emplace_back();
      } else {
        forest.nodes.emplace_back();
      }
    }
    read_nodes(forest, trees, modes);
    read_roots(forest, trees, ids);
    read_votes(forest);
    forest.check(node_);
    return forest;
  }

 private:
  void read_nodes(Forest& forest, const std::vector<int64_t>& trees,
                  const std::vector<std::string>& modes) {
    const std::vector<int64_t> features = node_.get_ints("nodes_featureids");
    const std::vector<int64_t> when_true = node_.get_ints("nodes_truenodeids");
    const std::vector<int64_t> when_false = node_.get_ints("nodes_falsenodeids");
    const std::vector<int64_t> missing = node_.get_ints("nodes_missing_value_tracks_true");
    const std::vector<double> splits =
        read_numbers(node_, "nodes_values_as_tensor", "nodes_values");
    require_count(node_, "nodes_featureids", features, trees.size());
    require_count(node_, "nodes_truenodeids", when_true, trees.size());
    require_count(node_, "nodes_falsenodeids", when_false, trees.size());
    require_count(node_, "nodes_values", splits, trees.size());
    if (!missing.empty())
      require_count(node_, "nodes_missing_value_tracks_true", missing, trees.size());
    size_t at = 0;
    for (size_t i = 0; i < trees.size(); ++i) {
      if (modes[i] == "LEAF") continue;
      TreeNode& node = forest.nodes[at++];
      node.branch = read_branch(node_, modes[i]);
      node.split = splits[i];
      node.feature = features[i];
      node.missing_is_true = !missing.empty() && missing[i] != 0;
      node.when_true = child(trees[i], when_true[i]);
      node.when_false = child(trees[i], when_false[i]);
    }
  }
  int64_t child(int64_t tree, int64_t id) {
    const int64_t index = find(tree, id);
    children_[{tree, id}] = true;
    return index;
  }
  [[nodiscard]] int64_t find(int64_t tree, int64_t id) const {
    const auto found = indices_.find({tree, id});
    if (found == indices_.end()) {
      node_.fail(GANTRY_INVALID_MODEL,
                 "tree " + std::to_string(tree) + " has no node " + std::to_string(id));
    }
    return found->second;
  }

  /// Roots are the nodes that are no node's child.
  void read_roots(Forest& forest, const std::vector<int64_t>& trees,
                  const std::vector<int64_t>& ids) {
    for (size_t i = 0; i < trees.size(); ++i) {
      if (children_.find({trees[i], ids[i]}) == children_.end())
        forest.roots.push_back(find(trees[i], ids[i]));
    }
  }

  void read_votes(Forest& forest) const {
    const std::vector<int64_t> trees = node_.get_ints(votes_ + "_treeids");
    const std::vector<int64_t> ids = node_.get_ints(votes_ + "_nodeids");
    const std::vector<int64_t> targets = node_.get_ints(votes_ + "_ids");
    const std::vector<double> weights =
        read_numbers(node_, (votes_ + "_weights_as_tensor").c_str(), (votes_ + "_weights").c_str());
    require_count(node_, (votes_ + "_nodeids").c_str(), ids, trees.size());
    require_count(node_, (votes_ + "_ids").c_str(), targets, trees.size());
    require_count(node_, (votes_ + "_weights").c_str(), weights, trees.size());
    for (size_t i = 0; i < trees.size(); ++i) {
      const int64_t index = find(trees[i], ids[i]);
      // A vote at an inner node is never reached.
      if (index < 0) forest.leaves[static_cast<size_t>(~index)].push_back({targets[i], weights[i]});
    }
  }

  const sdk::NodeView& node_;
  std::string votes_;
  std::map<std::pair<int64_t, int64_t>, int64_t> indices_;
  std::map<std::pair<int64_t, int64_t>, bool> children_;
};

}  // namespace

Forest read_listed_forest(const sdk::NodeView& node, const std::string& votes, int64_t targets) {
  return ListedForest(node, votes).read(targets);
}

Forest read_indexed_forest(const sdk::NodeView& node) {
  Forest forest;
  forest.targets = node.get_int("n_targets", 1);
  const std::vector<int64_t> features = node.get_ints("nodes_featureids");
  const size_t count = features.size();
  const auto modes = read_tensor_numbers<int64_t>(node, "nodes_modes");
  const auto splits = read_tensor_numbers<double>(node, "nodes_splits");
  const std::vector<int64_t> true_ids = node.get_ints("nodes_truenodeids");
  const std::vector<int64_t> false_ids = node.get_ints("nodes_falsenodeids");
  const std::vector<int64_t> true_leafs = node.get_ints("nodes_trueleafs");
  const std::vector<int64_t> false_leafs = node.get_ints("nodes_falseleafs");
  const std::vector<int64_t> missing = node.get_ints("nodes_missing_value_tracks_true");
  require_count(node, "nodes_modes", modes, count);
  require_count(node, "nodes_splits", splits, count);
  require_count(node, "nodes_truenodeids", true_ids, count);
  require_count(node, "nodes_falsenodeids", false_ids, count);
  require_count(node, "nodes_trueleafs", true_leafs, count);
  require_count(node, "nodes_falseleafs", false_leafs, count);
  if (!missing.empty()) require_count(node, "nodes_missing_value_tracks_true", missing, count);
  // Sets are in the order of their nodes, each terminated by a NaN.
  forest.sets.emplace_back();
  for (const double member : read_tensor_numbers<double>(node, "membership_values")) {
    if (std::isnan(member)) {
      forest.sets.emplace_back();
    } else {
      forest.sets.back().push_back(member);
    }
  }
  for (auto& set : forest.sets) std::sort(set.begin(), set.end());
  size_t set_count = 0;
  for (size_t i = 0; i < count; ++i) {
    if (modes[i] < 0 || modes[i] > 6 || true_ids[i] < 0 || false_ids[i] < 0)
      node.fail(GANTRY_INVALID_MODEL, "a node has a mode above 6 or a negative child");
    TreeNode& made = forest.nodes.emplace_back();
    made.branch = static_cast<Branch>(modes[i]);
    made.split = splits[i];
    if (made.branch == Branch::kMember) {
      if (set_count == forest.sets.size()) {
        node.fail(GANTRY_INVALID_MODEL,
                  "attribute membership_values has fewer sets than there are nodes of that mode");
      }
      made.split = static_cast<double>(set_count++);
    }
    made.feature = features[i];
    made.missing_is_true = !missing.empty() && missing[i] != 0;
    made.when_true = true_leafs[i] ? ~true_ids[i] : true_ids[i];
    made.when_false = false_leafs[i] ? ~false_ids[i] : false_ids[i];
  }
  const std::vector<int64_t> targets = node.get_ints("leaf_targetids");
  const auto weights = read_tensor_numbers<double>(node, "leaf_weights");
  require_count(node, "leaf_weights", weights, targets.size());
  for (size_t i = 0; i < targets.size(); ++i) forest.leaves.push_back({{targets[i], weights[i]}});
  forest.roots = node.get_ints("tree_roots");
  for (const int64_t root : forest.roots) {
    if (root < 0) node.fail(GANTRY_INVALID_MODEL, "attribute tree_roots has a negative number");
  }
  forest.check(node);
  return forest;
}

}  // namespace gantry::cpu

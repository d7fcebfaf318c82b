// SPDX-License-Identifier: Apache-2.0
// Ensembles of decision trees: TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier. All are
// read into one form; thresholds are compared and votes are summed in f64, which is exact for every
// type of feature but the longest integers.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/all_kernels.h"
#include "kernels/ml_common.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

enum class Branch : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember };
enum class Aggregate { kAverage, kSum, kMin, kMax };

struct Vote {
  int64_t target;
  double weight;
};

/// Children and roots are positions of nodes, or ~i for the leaf i.
struct TreeNode {
  double split = 0;  ///< of kMember: the position of its set
  int64_t feature = 0;
  int64_t when_true = 0;
  int64_t when_false = 0;
  Branch branch = Branch::kLeq;
  bool missing_is_true = false;
};

/// The trees of a model, checked: every position is valid, no path returns to itself.
class Forest {
 public:
  std::vector<TreeNode> nodes;
  std::vector<int64_t> roots;
  std::vector<std::vector<Vote>> leaves;
  std::vector<std::vector<double>> sets;  ///< sorted
  int64_t targets = 1;

  [[nodiscard]] int64_t features() const {
    int64_t most = 0;
    for (const TreeNode& node : nodes) most = std::max(most, node.feature + 1);
    return most;
  }

  void check(const sdk::NodeView& view) const {
    const auto node_count = static_cast<int64_t>(nodes.size());
    const auto leaf_count = static_cast<int64_t>(leaves.size());
    const auto check_place = [&](int64_t place) {
      if (place >= node_count || ~place >= leaf_count)
        view.fail(GANTRY_INVALID_MODEL, "a tree refers to a node or leaf that is not there");
    };
    for (const int64_t root : roots) check_place(root);
    for (const TreeNode& node : nodes) {
      check_place(node.when_true);
      check_place(node.when_false);
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

  /// The leaf that a row of features ends in.
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

  /// Walks every path once, with a stack of its own.
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

Branch read_branch(const sdk::NodeView& node, const std::string& name) {
  constexpr const char* kNames[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                    "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  for (int i = 0; i < 6; ++i) {
    if (name == kNames[i]) return static_cast<Branch>(i);
  }
  node.fail(GANTRY_INVALID_MODEL, "\"" + name + "\" is no mode of a tree's node");
}

/// A list that must be as long as another.
template <class T>
void require_count(const sdk::NodeView& node, const char* name, const std::vector<T>& list,
                   size_t count) {
  if (list.size() != count) {
    node.fail(GANTRY_INVALID_MODEL, "attribute " + std::string(name) + " has " +
                                        std::to_string(list.size()) + " items, expected " +
                                        std::to_string(count));
  }
}

/// Versions 1 and 3: nodes are named by tree and node ids; votes, in attributes that start with
/// `votes`, by the same.
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
      const int64_t place = is_leaf ? ~static_cast<int64_t>(forest.leaves.size())
                                    : static_cast<int64_t>(forest.nodes.size());
      if (!places_.try_emplace({trees[i], ids[i]}, place).second) {
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
    const int64_t place = find(tree, id);
    children_[{tree, id}] = true;
    return place;
  }
  [[nodiscard]] int64_t find(int64_t tree, int64_t id) const {
    const auto found = places_.find({tree, id});
    if (found == places_.end()) {
      node_.fail(GANTRY_INVALID_MODEL,
                 "tree " + std::to_string(tree) + " has no node " + std::to_string(id));
    }
    return found->second;
  }

  /// What is nobody's child.
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
      const int64_t place = find(trees[i], ids[i]);
      // A vote at an inner node is never reached.
      if (place < 0) forest.leaves[static_cast<size_t>(~place)].push_back({targets[i], weights[i]});
    }
  }

  const sdk::NodeView& node_;
  std::string votes_;
  std::map<std::pair<int64_t, int64_t>, int64_t> places_;
  std::map<std::pair<int64_t, int64_t>, bool> children_;
};

/// Version 5: nodes and leaves are named by their positions.
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
  // Sets stand in the order of their nodes, each ended by a NaN.
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

Aggregate read_aggregate(const sdk::NodeView& node) {
  if (node.op_type() == "TreeEnsembleClassifier") return Aggregate::kSum;
  constexpr const char* kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const bool is_number = node.op_type() == "TreeEnsemble";
  const std::string name = is_number ? "" : node.get_string("aggregate_function", "SUM");
  const int64_t number = is_number ? node.get_int("aggregate_function", 1) : -1;
  for (int i = 0; i < 4; ++i) {
    if (number == i || name == kNames[i]) return static_cast<Aggregate>(i);
  }
  node.fail(GANTRY_INVALID_MODEL, "attribute aggregate_function is " +
                                      (is_number ? std::to_string(number) : name) +
                                      ", expected one of average, sum, min and max");
}

class TreeKernel : public NodeKernel {
 protected:
  TreeKernel(const sdk::NodeView& node, Forest forest)
      : NodeKernel(node),
        forest_(std::move(forest)),
        features_(forest_.features()),
        aggregate_(read_aggregate(node)),
        transform_(read_post_transform(node)),
        base_(read_numbers(node, "base_values_as_tensor", "base_values")) {
    if (forest_.targets < 1 || forest_.targets > INT32_MAX) {
      node.fail(GANTRY_INVALID_MODEL,
                "there are " + std::to_string(forest_.targets) + " targets, expected at least 1");
    }
  }

  /// take(row, scores) for every row, in parallel; the scores are those of all targets, without
  /// the base values.
  template <class Take>
  void score(sdk::Call& call, const FeatureShape& shape, Take take) const {
    if (shape.columns < features_) {
      fail("rows of " + std::to_string(shape.columns) + " features, the trees ask for " +
           std::to_string(features_));
    }
    const auto* x = features_as<double>(call, 0);
    const auto trees = static_cast<int64_t>(forest_.roots.size());
    const int64_t grain = std::max<int64_t>(1, 1024 / std::max<int64_t>(trees, 1));
    const int64_t parts = std::clamp<int64_t>(shape.rows / grain, 1, call.thread_count());
    auto* memory = call.scratch<double>(parts * forest_.targets);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        double* scores = memory + part * forest_.targets;
        for (int64_t row = shape.rows * part / parts; row < shape.rows * (part + 1) / parts;
             ++row) {
          vote(x + row * shape.columns, scores);
          take(row, scores);
        }
      }
    });
  }

  Forest forest_;
  int64_t features_;
  Aggregate aggregate_;
  PostTransform transform_;
  std::vector<double> base_;

 private:
  void vote(const double* x, double* scores) const {
    const bool is_extreme = aggregate_ == Aggregate::kMin || aggregate_ == Aggregate::kMax;
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    std::fill_n(scores, forest_.targets, is_extreme ? kNone : 0.0);
    for (const int64_t root : forest_.roots) {
      for (const Vote& vote : forest_.leaves[static_cast<size_t>(forest_.find(root, x))]) {
        double& score = scores[vote.target];
        if (!is_extreme) {
          score += vote.weight;
        } else if (std::isnan(score)) {
          score = vote.weight;
        } else {
          score = aggregate_ == Aggregate::kMin ? std::min(score, vote.weight)
                                                : std::max(score, vote.weight);
        }
      }
    }
    const double trees = static_cast<double>(forest_.roots.size());
    for (int64_t i = 0; i < forest_.targets; ++i) {
      if (aggregate_ == Aggregate::kAverage && trees > 0) scores[i] /= trees;
      if (is_extreme && std::isnan(scores[i])) scores[i] = 0;
    }
  }
};

class TreeRegressor final : public TreeKernel {
 public:
  explicit TreeRegressor(const sdk::NodeView& node) : TreeKernel(node, read(node)) {
    if (!base_.empty())
      require_count(node, "base_values", base_, static_cast<size_t>(forest_.targets));
    keeps_type_ = node.op_type() == "TreeEnsemble";
  }

  void run(sdk::Call& call) const override {
    const FeatureShape shape(call.shape(0), label());
    const uint32_t dtype = keeps_type_ ? call.input(0).dtype : uint32_t{GANTRY_FLOAT};
    gantry_tensor& output = call.output(0, dtype, {shape.rows, forest_.targets});
    const int64_t targets = forest_.targets;
    auto* scores = call.scratch<float>(shape.rows * targets);
    dispatch<TypeList<float, double, Float16>>(dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      auto* y = static_cast<T*>(output.data);
      score(call, shape, [&](int64_t row, const double* sums) {
        float* own = scores + row * targets;
        for (int64_t i = 0; i < targets; ++i) {
          const double sum = sums[i] + (base_.empty() ? 0.0 : base_[static_cast<size_t>(i)]);
          own[i] = static_cast<float>(sum);
          y[row * targets + i] = static_cast<T>(static_cast<Compute<T>>(sum));
        }
        if (transform_ == PostTransform::kNone) return;
        transform_scores(transform_, own, targets);
        for (int64_t i = 0; i < targets; ++i)
          y[row * targets + i] = static_cast<T>(static_cast<Compute<T>>(own[i]));
      });
    });
  }

 private:
  static Forest read(const sdk::NodeView& node) {
    if (node.op_type() == "TreeEnsemble") return read_indexed_forest(node);
    return ListedForest(node, "target").read(node.get_int("n_targets", 1));
  }

  bool keeps_type_;
};

/// Where all votes of two classes are for one of them, its score decides alone: above 1/2 if no
/// weight is negative (they are probabilities then), else above 0.
class TreeClassifier final : public TreeKernel {
 public:
  explicit TreeClassifier(const sdk::NodeView& node)
      : TreeKernel(node, ListedForest(node, "class").read(class_count(node))),
        labels_(node, "classlabels_int64s", "classlabels_strings") {
    int64_t voted = -1;
    bool is_one = true;
    for (const auto& leaf : forest_.leaves) {
      for (const Vote& vote : leaf) {
        is_one &= voted == -1 || voted == vote.target;
        voted = vote.target;
        is_probability_ &= vote.weight >= 0;
      }
    }
    voted_ = std::max<int64_t>(voted, 0);
    decides_alone_ = is_one && labels_.count() <= 2;
    const size_t most = static_cast<size_t>(forest_.targets);
    if (!base_.empty() && base_.size() != most && !(decides_alone_ && base_.size() == 1))
      require_count(node, "base_values", base_, most);
  }

  void run(sdk::Call& call) const override {
    const FeatureShape shape(call.shape(0), label());
    auto* classes = call.scratch<int64_t>(shape.rows);
    const int64_t width = forest_.targets;
    auto* y = static_cast<float*>(call.output(1, GANTRY_FLOAT, {shape.rows, width}).data);
    score(call, shape, [&](int64_t row, double* sums) {
      classes[row] = decides_alone_ ? decide(sums, y + row * width) : elect(sums, y + row * width);
    });
    labels_.write(call, shape.rows, classes);
  }

 private:
  static int64_t class_count(const sdk::NodeView& node) {
    const ClassLabels labels(node, "classlabels_int64s", "classlabels_strings");
    if (labels.count() == 0) {
      node.fail(GANTRY_INVALID_MODEL,
                "one of the attributes classlabels_int64s and classlabels_strings must be given");
    }
    return labels.count();
  }

  /// The class with the highest score, the first of equals.
  int64_t elect(double* sums, float* y) const {
    const int64_t count = forest_.targets;
    for (int64_t i = 0; i < count; ++i) {
      if (!base_.empty()) sums[i] += base_[static_cast<size_t>(i)];
      y[i] = static_cast<float>(sums[i]);
    }
    transform_scores(transform_, y, count);
    return std::max_element(sums, sums + count) - sums;
  }

  int64_t decide(const double* sums, float* y) const {
    double sum = sums[voted_];
    if (!base_.empty()) sum += base_.back();
    const int64_t decided = sum > (is_probability_ && labels_.count() == 2 ? 0.5 : 0.0) ? 1 : 0;
    const auto score = static_cast<float>(sum);
    if (labels_.count() < 2) {
      y[0] = score;
      transform_scores(transform_, y, 1);
      return decided;
    }
    y[1] = score;
    y[0] = is_probability_ && transform_ == PostTransform::kNone ? 1.0F - score : -score;
    transform_scores(transform_, y, 2);
    return decided;
  }

  ClassLabels labels_;
  int64_t voted_ = 0;
  bool is_probability_ = true;
  bool decides_alone_ = false;
};

constexpr sdk::DTypeSet kTreeTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_DOUBLE, GANTRY_FLOAT16);

constexpr sdk::KernelRow kMlTreeRows[] = {
    ml_row("TreeEnsemble", 5, sdk::kLatest, kTreeTypes, sdk::make<TreeRegressor>),
    ml_row("TreeEnsembleRegressor", 1, sdk::kLatest, kFeatures, sdk::make<TreeRegressor>),
    ml_row("TreeEnsembleClassifier", 1, sdk::kLatest, kFeatures, sdk::make<TreeClassifier>),
};

}  // namespace

sdk::KernelTable ml_tree_kernels() { return sdk::table(kMlTreeRows); }

}  // namespace gantry::cpu

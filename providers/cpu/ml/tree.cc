// SPDX-License-Identifier: Apache-2.0
// TreeEnsemble, TreeEnsembleRegressor and TreeEnsembleClassifier of ai.onnx.ml, all read into a
// Forest. Thresholds are compared and votes are summed in f64. f64 represents every feature exactly
// but int64 values above 2^53.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attributes.h"
#include "families.h"
#include "ml/forest.h"
#include "ml/operands.h"
#include "ml/walk.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

enum class Aggregate { kAverage, kSum, kMin, kMax };

Aggregate read_aggregate(const sdk::NodeView& node) {
  if (node.op_type() == "TreeEnsembleClassifier") return Aggregate::kSum;
  if (node.op_type() == "TreeEnsemble")
    return static_cast<Aggregate>(read_integer(node, "aggregate_function", 1, 0, 3));
  return read_choice<Aggregate>(node, "aggregate_function", "SUM",
                                {"AVERAGE", "SUM", "MIN", "MAX"});
}

class TreeKernel : public NodeKernel {
 protected:
  TreeKernel(const sdk::NodeView& node, Forest forest)
      : NodeKernel(node),
        forest_(std::move(forest)),
        walk_(forest_),
        features_(forest_.features()),
        aggregate_(read_aggregate(node)),
        transform_(read_post_transform(node)),
        base_(read_numbers(node, "base_values_as_tensor", "base_values")) {
    if (forest_.targets < 1 || forest_.targets > INT32_MAX) {
      node.fail(GANTRY_INVALID_MODEL,
                "there are " + std::to_string(forest_.targets) + " targets, expected at least 1");
    }
    vote_ends_.push_back(0);
    for (const auto& leaf : forest_.leaves) {
      votes_.insert(votes_.end(), leaf.begin(), leaf.end());
      vote_ends_.push_back(votes_.size());
    }
  }

  /// Calls take(row, scores) for every row, in parallel. `scores` has a score for each target,
  /// without the base values.
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
    // A block of rows stays in the cache while all trees are evaluated for it.
    const int64_t block = std::clamp<int64_t>(4096 / forest_.targets, 1, kMostRows);
    auto* memory = call.scratch<double>(parts * block * forest_.targets);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        double* scores = memory + part * block * forest_.targets;
        const int64_t last = shape.rows * (part + 1) / parts;
        for (int64_t row = shape.rows * part / parts; row < last; row += block) {
          const int64_t count = std::min(block, last - row);
          vote(x + row * shape.columns, shape.columns, count, scores);
          for (int64_t i = 0; i < count; ++i) take(row + i, scores + i * forest_.targets);
        }
      }
    });
  }

  Forest forest_;
  ForestWalk walk_;
  int64_t features_;
  Aggregate aggregate_;
  PostTransform transform_;
  std::vector<double> base_;

 private:
  static constexpr int64_t kMostRows = 64;

  std::vector<Vote> votes_;  ///< of all leaves; those of leaf i start at vote_ends_[i]
  std::vector<size_t> vote_ends_;

  [[nodiscard]] bool is_extreme() const {
    return aggregate_ == Aggregate::kMin || aggregate_ == Aggregate::kMax;
  }

  /// Computes the scores of `rows` rows of x, [rows, columns].
  void vote(const double* x, int64_t columns, int64_t rows, double* scores) const {
    const int64_t targets = forest_.targets;
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    std::fill_n(scores, rows * targets, is_extreme() ? kNone : 0.0);
    const auto trees = static_cast<int64_t>(forest_.roots.size());
    int64_t leaves[kMostRows];
    if (!walk_.is_possible()) {
      for (const int64_t root : forest_.roots) {
        for (int64_t i = 0; i < rows; ++i)
          count_votes(forest_.find(root, x + i * columns), scores + i * targets);
      }
    } else if (rows > 1) {
      for (int64_t tree = 0; tree < trees; ++tree) {
        walk_.find(tree, x, columns, rows, leaves);
        for (int64_t i = 0; i < rows; ++i) count_votes(leaves[i], scores + i * targets);
      }
    } else {
      for (int64_t tree = 0; tree < trees; tree += kMostRows) {
        const int64_t count = std::min(kMostRows, trees - tree);
        walk_.find_in_trees(tree, count, x, leaves);
        for (int64_t i = 0; i < count; ++i) count_votes(leaves[i], scores);
      }
    }
    for (int64_t i = 0; i < rows * targets; ++i) {
      if (aggregate_ == Aggregate::kAverage && trees > 0) scores[i] /= static_cast<double>(trees);
      if (is_extreme() && std::isnan(scores[i])) scores[i] = 0;
    }
  }
  void count_votes(int64_t leaf, double* scores) const {
    const auto at = static_cast<size_t>(leaf);
    for (size_t i = vote_ends_[at]; i < vote_ends_[at + 1]; ++i) {
      const Vote& vote = votes_[i];
      double& score = scores[vote.target];
      if (!is_extreme()) {
        score += vote.weight;
      } else if (std::isnan(score)) {
        score = vote.weight;
      } else {
        score = aggregate_ == Aggregate::kMin ? std::min(score, vote.weight)
                                              : std::max(score, vote.weight);
      }
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
    return read_listed_forest(node, "target", node.get_int("n_targets", 1));
  }

  bool keeps_type_;
};

/// Binary classification: if all votes of two classes are for one of them, its score alone decides.
/// The threshold is 1/2 if no weight is negative, since the scores are then probabilities, else 0.
class TreeClassifier final : public TreeKernel {
 public:
  explicit TreeClassifier(const sdk::NodeView& node)
      : TreeKernel(node, read_listed_forest(node, "class", class_count(node))),
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

sdk::KernelTable tree_kernels() { return sdk::table(kMlTreeRows); }

}  // namespace gantry::cpu

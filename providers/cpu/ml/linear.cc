// SPDX-License-Identifier: Apache-2.0
// LinearRegressor and LinearClassifier of ai.onnx.ml. Scores are computed in f32.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "convert.h"
#include "families.h"
#include "linear_algebra/blas.h"
#include "linear_algebra/skinny_gemm.h"
#include "ml/operands.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

class LinearModel : public NodeKernel {
 protected:
  LinearModel(const sdk::NodeView& node, int64_t targets)
      : NodeKernel(node),
        targets_(targets),
        transform_(read_post_transform(node)),
        coefficients_(node.get_floats("coefficients")),
        intercepts_(node.get_floats("intercepts")) {
    const auto count = static_cast<int64_t>(coefficients_.size());
    if (targets_ < 1 || count % targets_ != 0 ||
        (!intercepts_.empty() && static_cast<int64_t>(intercepts_.size()) != targets_)) {
      node.fail(GANTRY_INVALID_MODEL,
                std::to_string(count) + " coefficients and " + std::to_string(intercepts_.size()) +
                    " intercepts do not fit " + std::to_string(targets_) + " targets");
    }
  }

  /// scores[rows, targets] = x coefficients^T + intercepts
  void score(sdk::Call& call, const FeatureShape& shape, float* scores) const {
    const auto features = static_cast<int64_t>(coefficients_.size()) / targets_;
    if (shape.columns != features) {
      fail("rows of " + std::to_string(shape.columns) + " features, but the coefficients are for " +
           std::to_string(features));
    }
    check_gemm(shape.rows, targets_, features, label());
    for (int64_t row = 0; row < shape.rows && !intercepts_.empty(); ++row)
      std::copy(intercepts_.begin(), intercepts_.end(), scores + row * targets_);
    const auto* x = features_as<float>(call, 0);
    if (targets_ * features <= kFewCoefficients) {
      if (intercepts_.empty()) std::fill_n(scores, shape.rows * targets_, 0.0F);
      const int64_t grain = std::max<int64_t>(1, kConvertGrain / std::max<int64_t>(features, 1));
      return call.parallel_for(shape.rows, grain, [&](int64_t begin, int64_t end) {
        simd::add_skinny_gemm(x + begin * features, coefficients_.data(), scores + begin * targets_,
                              end - begin, targets_, features, targets_);
      });
    }
    GemmArgs<float> args =
        dense_gemm<float>(shape.rows, targets_, features, x, coefficients_.data(), scores);
    args.transpose_b = true;
    args.ldb = std::max<int64_t>(features, 1);
    args.beta = intercepts_.empty() ? 0.0F : 1.0F;
    gemm(call, args);
  }

  int64_t targets_;
  PostTransform transform_;

 private:
  /// Coefficients that fit the L1 cache while all rows use them.
  static constexpr int64_t kFewCoefficients = 4096;

  std::vector<float> coefficients_;
  std::vector<float> intercepts_;
};

class LinearRegressor final : public LinearModel {
 public:
  explicit LinearRegressor(const sdk::NodeView& node)
      : LinearModel(node, node.get_int("targets", 1)) {}

  void run(sdk::Call& call) const override {
    const FeatureShape shape(call.shape(0), label());
    auto* y = static_cast<float*>(call.output(0, GANTRY_FLOAT, {shape.rows, targets_}).data);
    score(call, shape, y);
    for (int64_t row = 0; row < shape.rows && transform_ != PostTransform::kNone; ++row)
      transform_scores(transform_, y + row * targets_, targets_);
  }
};

/// The number of intercepts, or of labels if there are no intercepts.
int64_t target_count(const sdk::NodeView& node) {
  const auto intercepts = static_cast<int64_t>(node.get_floats("intercepts").size());
  if (intercepts > 0) return intercepts;
  const ClassLabels labels(node, "classlabels_ints", "classlabels_strings");
  return std::max<int64_t>(labels.count(), 1);
}

class LinearClassifier final : public LinearModel {
 public:
  explicit LinearClassifier(const sdk::NodeView& node)
      : LinearModel(node, target_count(node)),
        labels_(node, "classlabels_ints", "classlabels_strings") {
    if (targets_ > 1 && labels_.count() != targets_) {
      node.fail(GANTRY_INVALID_MODEL, std::to_string(labels_.count()) + " class labels for " +
                                          std::to_string(targets_) + " targets");
    }
  }

  void run(sdk::Call& call) const override {
    const FeatureShape shape(call.shape(0), label());
    // One score for two classes; the score of the other class is its negative.
    const bool is_pair = targets_ == 1 && labels_.count() == 2;
    const int64_t width = is_pair ? 2 : targets_;
    auto* scores = call.scratch<float>(shape.rows * targets_);
    score(call, shape, scores);
    auto* classes = call.scratch<int64_t>(shape.rows);
    float* y = static_cast<float*>(call.output(1, GANTRY_FLOAT, {shape.rows, width}).data);
    for (int64_t row = 0; row < shape.rows; ++row) {
      const float* from = scores + row * targets_;
      float* to = y + row * width;
      classes[row] =
          targets_ == 1 ? (*from > 0 ? 1 : 0) : std::max_element(from, from + targets_) - from;
      std::copy_n(from, targets_, to + width - targets_);
      if (is_pair) to[0] = -to[1];
      transform_scores(transform_, to, width);
    }
    labels_.write(call, shape.rows, classes);
  }

 private:
  ClassLabels labels_;
};

constexpr sdk::KernelRow kMlLinearRows[] = {
    ml_row("LinearRegressor", 1, sdk::kLatest, kFeatures, sdk::make<LinearRegressor>),
    ml_row("LinearClassifier", 1, sdk::kLatest, kFeatures, sdk::make<LinearClassifier>),
};

}  // namespace

sdk::KernelTable linear_kernels() { return sdk::table(kMlLinearRows); }

}  // namespace gantry::cpu

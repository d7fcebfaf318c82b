// SPDX-License-Identifier: Apache-2.0
// SVMRegressor and SVMClassifier of ai.onnx.ml. Kernel functions are computed in f32.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "attributes.h"
#include "families.h"
#include "ml/operands.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

/// Attributes that both operators have, and the kernel function.
class SupportVectors : public NodeKernel {
 protected:
  enum class Function { kLinear, kPoly, kRbf, kSigmoid };

  explicit SupportVectors(const sdk::NodeView& node)
      : NodeKernel(node),
        transform_(read_post_transform(node)),
        coefficients_(node.get_floats("coefficients")),
        vectors_(node.get_floats("support_vectors")),
        rho_(node.get_floats("rho")),
        kernel_(read_choice<Function>(node, "kernel_type", "LINEAR",
                                      {"LINEAR", "POLY", "RBF", "SIGMOID"})) {
    const std::vector<float> parameters = node.get_floats("kernel_params");
    if (!parameters.empty() && parameters.size() != 3)
      node.fail(GANTRY_INVALID_MODEL, "attribute kernel_params must hold gamma, coef0 and degree");
    if (!parameters.empty()) {
      gamma_ = parameters[0];
      coef0_ = parameters[1];
      degree_ = parameters[2];
    }
    if (rho_.empty()) node.fail(GANTRY_INVALID_MODEL, "attribute rho is missing");
  }

  [[nodiscard]] float kernel(const float* x, const float* v, int64_t count) const {
    float sum = 0;
    if (kernel_ == Function::kRbf) {
      for (int64_t i = 0; i < count; ++i) sum += (x[i] - v[i]) * (x[i] - v[i]);
      return std::exp(-gamma_ * sum);
    }
    for (int64_t i = 0; i < count; ++i) sum += x[i] * v[i];
    if (kernel_ == Function::kLinear) return sum;
    sum = gamma_ * sum + coef0_;
    return kernel_ == Function::kPoly ? std::pow(sum, degree_) : std::tanh(sum);
  }

  void check_columns(const FeatureShape& shape, size_t expected) const {
    if (shape.columns != static_cast<int64_t>(expected)) {
      fail("rows of " + std::to_string(shape.columns) + " features for vectors of " +
           std::to_string(expected));
    }
  }

  PostTransform transform_;
  std::vector<float> coefficients_;
  std::vector<float> vectors_;
  std::vector<float> rho_;
  Function kernel_;
  float gamma_ = 0;
  float coef0_ = 0;
  float degree_ = 0;
};

class SvmRegressor final : public SupportVectors {
 public:
  explicit SvmRegressor(const sdk::NodeView& node)
      : SupportVectors(node),
        count_(node.get_int("n_supports", 0)),
        is_one_class_(node.get_int("one_class", 0) != 0) {
    const auto numbers = static_cast<int64_t>(vectors_.size());
    if (count_ < 0 || (count_ > 0 && (numbers % count_ != 0 ||
                                      static_cast<int64_t>(coefficients_.size()) != count_))) {
      node.fail(GANTRY_INVALID_MODEL, std::to_string(coefficients_.size()) + " coefficients and " +
                                          std::to_string(numbers) + " numbers do not make " +
                                          std::to_string(count_) + " support vectors");
    }
  }

  void run(sdk::Call& call) const override {
    const FeatureShape shape(call.shape(0), label());
    const int64_t columns = shape.columns;
    check_columns(
        shape, count_ > 0 ? vectors_.size() / static_cast<size_t>(count_) : coefficients_.size());
    const auto* x = features_as<float>(call, 0);
    auto* y = static_cast<float*>(call.output(0, GANTRY_FLOAT, {shape.rows, 1}).data);
    const int64_t work = std::max<int64_t>(count_, 1) * std::max<int64_t>(columns, 1);
    call.parallel_for(shape.rows, std::max<int64_t>(1, 16384 / work),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t row = begin; row < end; ++row)
                          y[row] = score(x + row * columns, columns);
                      });
  }

 private:
  [[nodiscard]] float score(const float* x, int64_t columns) const {
    float sum = rho_[0];
    if (count_ == 0) {
      sum = std::inner_product(x, x + columns, coefficients_.data(), sum);
    } else {
      for (int64_t i = 0; i < count_; ++i) {
        sum += coefficients_[static_cast<size_t>(i)] *
               kernel(x, vectors_.data() + i * columns, columns);
      }
    }
    if (is_one_class_) return sum > 0 ? 1.0F : -1.0F;
    transform_scores(transform_, &sum, 1);
    return sum;
  }

  int64_t count_;
  bool is_one_class_;
};

/// One-vs-one SVMs that vote, or without support vectors one linear score for each class.
class SvmClassifier final : public SupportVectors {
 public:
  explicit SvmClassifier(const sdk::NodeView& node)
      : SupportVectors(node),
        labels_(node, "classlabels_ints", "classlabels_strings"),
        per_class_(node.get_ints("vectors_per_class")),
        prob_a_(node.get_floats("prob_a")),
        prob_b_(node.get_floats("prob_b")) {
    classes_ = std::max<int64_t>(labels_.count(), 1);
    for (const int64_t count : per_class_) {
      if (count < 0 || count > INT32_MAX)
        node.fail(GANTRY_INVALID_MODEL, "attribute vectors_per_class has a number out of range");
      starts_.push_back(vector_count_);
      vector_count_ += count;
    }
    pairs_ = vector_count_ > 0 ? classes_ * (classes_ - 1) / 2 : 0;
    if (vector_count_ > 0 ? !fits_pairs()
                          : static_cast<int64_t>(coefficients_.size()) % classes_ != 0) {
      node.fail(GANTRY_INVALID_MODEL,
                "the numbers of coefficients, support vectors, rho, prob_a and prob_b do not fit " +
                    std::to_string(classes_) + " classes");
    }
  }

  void run(sdk::Call& call) const override {
    const FeatureShape shape(call.shape(0), label());
    check_columns(shape, vector_count_ > 0 ? vectors_.size() / static_cast<size_t>(vector_count_)
                                           : coefficients_.size() / static_cast<size_t>(classes_));
    const auto* x = features_as<float>(call, 0);
    const int64_t raw = has_probabilities() || pairs_ == 0 ? classes_ : pairs_;
    // One score for two classes is output for both.
    const bool is_pair = raw == 1 && labels_.count() == 2;
    const int64_t width = is_pair ? 2 : raw;
    auto* classes = call.scratch<int64_t>(shape.rows);
    auto* y = static_cast<float*>(call.output(1, GANTRY_FLOAT, {shape.rows, width}).data);
    const int64_t parts = std::clamp<int64_t>(shape.rows, 1, call.thread_count());
    const int64_t per_part = vector_count_ + pairs_ + 2 * classes_ + 2 * classes_ * classes_;
    auto* memory = call.scratch<float>(parts * per_part);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        float* own = memory + part * per_part;
        for (int64_t row = shape.rows * part / parts; row < shape.rows * (part + 1) / parts;
             ++row) {
          float* scores = y + row * width;
          classes[row] =
              classify(x + row * shape.columns, shape.columns, own, scores + width - raw);
          if (is_pair) scores[0] = -scores[1];
          transform_scores(transform_, scores, width);
        }
      }
    });
    labels_.write(call, shape.rows, classes);
  }

 private:
  [[nodiscard]] bool has_probabilities() const { return pairs_ > 0 && !prob_a_.empty(); }
  [[nodiscard]] bool fits_pairs() const {
    const auto pairs = static_cast<size_t>(pairs_);
    const auto vectors = static_cast<size_t>(vector_count_);
    return static_cast<int64_t>(per_class_.size()) == classes_ && vectors_.size() % vectors == 0 &&
           classes_ > 1 && coefficients_.size() == static_cast<size_t>(classes_ - 1) * vectors &&
           rho_.size() >= pairs &&
           (prob_a_.empty() || (prob_a_.size() == pairs && prob_b_.size() == pairs));
  }

  /// Writes the raw scores and returns the class. `work`: see run().
  int64_t classify(const float* x, int64_t columns, float* work, float* scores) const {
    if (pairs_ == 0) {
      for (int64_t i = 0; i < classes_; ++i) {
        const float* weights = coefficients_.data() + i * columns;
        scores[i] = rho_[0] + kernel(x, weights, columns);
      }
      if (classes_ == 1) return scores[0] > 0 ? 1 : 0;
      return std::max_element(scores, scores + classes_) - scores;
    }
    float* kernels = work;
    float* pair_scores = kernels + vector_count_;
    float* votes = pair_scores + pairs_;
    for (int64_t i = 0; i < vector_count_; ++i)
      kernels[i] = kernel(x, vectors_.data() + i * columns, columns);
    std::fill_n(votes, classes_, 0.0F);
    int64_t pair = 0;
    for (int64_t i = 0; i < classes_; ++i) {
      for (int64_t j = i + 1; j < classes_; ++j, ++pair) {
        const float sum =
            rho_[static_cast<size_t>(pair)] + weighted(kernels, j - 1, i) + weighted(kernels, i, j);
        pair_scores[pair] = sum;
        votes[sum > 0 ? i : j] += 1.0F;
      }
    }
    if (!has_probabilities()) {
      std::copy_n(pair_scores, pairs_, scores);
      return std::max_element(votes, votes + classes_) - votes;
    }
    couple(pair_scores, votes + classes_, scores);
    return std::max_element(votes, votes + classes_) - votes;
  }

  /// Sum of the kernel values of class `of`, weighted by coefficient row `row`.
  [[nodiscard]] float weighted(const float* kernels, int64_t row, int64_t of) const {
    const int64_t start = starts_[static_cast<size_t>(of)];
    const int64_t count = per_class_[static_cast<size_t>(of)];
    const float* weights = coefficients_.data() + row * vector_count_ + start;
    return std::inner_product(weights, weights + count, kernels + start, 0.0F);
  }

  /// Class probabilities from pairwise probabilities, by the iteration of Wu, Lin and Weng (2004).
  void couple(const float* pair_scores, float* work, float* p) const {
    const int64_t k = classes_;
    float* qp = work;
    float* r = qp + k;
    float* q = r + k * k;
    int64_t pair = 0;
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = i + 1; j < k; ++j, ++pair) {
        const auto at = static_cast<size_t>(pair);
        const float value = 1.0F / (1.0F + std::exp(pair_scores[pair] * prob_a_[at] + prob_b_[at]));
        r[i * k + j] = std::clamp(value, 1e-7F, 1.0F - 1e-7F);
        r[j * k + i] = 1.0F - r[i * k + j];
      }
    }
    for (int64_t t = 0; t < k; ++t) {
      p[t] = 1.0F / static_cast<float>(k);
      float& diagonal = q[t * k + t];
      diagonal = 0;
      for (int64_t j = 0; j < k; ++j) {
        if (j == t) continue;
        diagonal += r[j * k + t] * r[j * k + t];
        q[t * k + j] = -r[j * k + t] * r[t * k + j];
      }
    }
    const float tolerance = 0.005F / static_cast<float>(k);
    for (int64_t step = 0; step < std::max<int64_t>(100, k); ++step) {
      float pqp = 0;
      for (int64_t t = 0; t < k; ++t) {
        qp[t] = std::inner_product(p, p + k, q + t * k, 0.0F);
        pqp += p[t] * qp[t];
      }
      float error = 0;
      for (int64_t t = 0; t < k; ++t) error = std::max(error, std::fabs(qp[t] - pqp));
      if (error < tolerance) return;
      for (int64_t t = 0; t < k; ++t) {
        const float head = q[t * k + t];
        const float change = (pqp - qp[t]) / head;
        p[t] += change;
        pqp = (pqp + change * (change * head + 2 * qp[t])) / ((1 + change) * (1 + change));
        for (int64_t j = 0; j < k; ++j) {
          qp[j] = (qp[j] + change * q[t * k + j]) / (1 + change);
          p[j] /= 1 + change;
        }
      }
    }
  }

  ClassLabels labels_;
  std::vector<int64_t> per_class_;
  std::vector<float> prob_a_;
  std::vector<float> prob_b_;
  std::vector<int64_t> starts_;
  int64_t classes_ = 1;
  int64_t vector_count_ = 0;
  int64_t pairs_ = 0;
};

constexpr sdk::KernelRow kMlSvmRows[] = {
    ml_row("SVMRegressor", 1, sdk::kLatest, kFeatures, sdk::make<SvmRegressor>),
    ml_row("SVMClassifier", 1, sdk::kLatest, kFeatures, sdk::make<SvmClassifier>),
};

}  // namespace

sdk::KernelTable svm_kernels() { return sdk::table(kMlSvmRows); }

}  // namespace gantry::cpu

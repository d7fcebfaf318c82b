// SPDX-License-Identifier: Apache-2.0
#include "ml/operands.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attributes.h"
#include "dims.h"
#include "values.h"

namespace gantry::cpu {

namespace {

void softmax(float* scores, int64_t count, bool keeps_zeros) {
  if (count == 0) return;
  const float largest = *std::max_element(scores, scores + count);
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const bool is_zero = keeps_zeros && std::fabs(scores[i]) <= 1e-7F;
    scores[i] = is_zero ? scores[i] * std::exp(-largest) : std::exp(scores[i] - largest);
    sum += scores[i];
  }
  for (int64_t i = 0; i < count; ++i) scores[i] = sum == 0 ? 0.5F : scores[i] / sum;
}

/// Quantile of the normal distribution: an estimate, refined by Newton's method.
double probit(double p) {
  if (!(p > 0 && p < 1)) {
    if (p == 0) return -std::numeric_limits<double>::infinity();
    return p == 1 ? std::numeric_limits<double>::infinity()
                  : std::numeric_limits<double>::quiet_NaN();
  }
  constexpr double kPi = 3.14159265358979323846;
  const double y = 2 * p - 1;
  const double log = std::log((1 - y) * (1 + y));
  const double a = 2 / (kPi * 0.147) + log / 2;
  double x = std::copysign(std::sqrt(std::sqrt(a * a - log / 0.147) - a), y) * std::sqrt(2.0);
  for (int i = 0; i < 3; ++i) {
    const double error = 0.5 * std::erfc(-x / std::sqrt(2.0)) - p;
    x -= error * std::sqrt(2 * kPi) * std::exp(x * x / 2);
  }
  return x;
}

}  // namespace

FeatureShape::FeatureShape(sdk::Shape shape, const std::string& label)
    : rows(shape.rank == 2 ? shape[0] : 1), columns(shape.rank > 0 ? shape[shape.rank - 1] : 1) {
  if (shape.rank > 2) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     label + ": features of shape " + to_string(shape) + ", expected [N, F]");
  }
}

PostTransform read_post_transform(const sdk::NodeView& node) {
  if (node.op_type() == "TreeEnsemble")
    return static_cast<PostTransform>(read_integer(node, "post_transform", 0, 0, 4));
  return read_choice<PostTransform>(node, "post_transform", "NONE",
                                    {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"});
}

void transform_scores(PostTransform transform, float* scores, int64_t count) {
  switch (transform) {
    case PostTransform::kNone:
      return;
    case PostTransform::kSoftmax:
      return softmax(scores, count, false);
    case PostTransform::kSoftmaxZero:
      return softmax(scores, count, true);
    case PostTransform::kLogistic:
      for (int64_t i = 0; i < count; ++i) scores[i] = 1.0F / (1.0F + std::exp(-scores[i]));
      return;
    case PostTransform::kProbit:
      for (int64_t i = 0; i < count; ++i)
        scores[i] = static_cast<float>(probit(static_cast<double>(scores[i])));
      return;
  }
}

ClassLabels::ClassLabels(const sdk::NodeView& node, const char* ints, const char* strings)
    : numbers_(node.get_ints(ints)), texts_(node.get_strings(strings)) {
  if (!numbers_.empty() && !texts_.empty()) {
    node.fail(GANTRY_INVALID_MODEL, "only one of the attributes " + std::string(ints) + " and " +
                                        strings + " may be given");
  }
}

void ClassLabels::write(sdk::Call& call, int64_t rows, const int64_t* classes) const {
  const int64_t known = count() == 1 ? 0 : count();
  if (texts_.empty()) {
    auto* y = static_cast<int64_t*>(call.output(0, GANTRY_INT64, {rows}).data);
    for (int64_t i = 0; i < rows; ++i)
      y[i] = classes[i] < known ? numbers_[static_cast<size_t>(classes[i])] : classes[i];
    return;
  }
  const OwnedValue result = create_string_tensor(call.host(), {&rows, 1}, [&](int64_t i) {
    return classes[i] < known ? texts_[static_cast<size_t>(classes[i])]
                              : std::to_string(classes[i]);
  });
  call.output_value(0, result.get());
}

std::vector<double> read_numbers(const sdk::NodeView& node, const char* tensor,
                                 const char* fallback) {
  std::vector<double> numbers = read_tensor_numbers<double>(node, tensor);
  if (!node.has(tensor) && fallback) {
    for (const float number : node.get_floats(fallback)) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace gantry::cpu

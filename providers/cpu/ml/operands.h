// SPDX-License-Identifier: Apache-2.0
// Shared by the operators of domain ai.onnx.ml: feature tensors, post transforms of scores, class
// labels, numeric attributes, and kernel rows of the domain. Any thread.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/kernel.h>
#include <gantry/sdk/rows.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "convert.h"
#include "dispatch.h"

namespace gantry::cpu {

using FeatureTypes = TypeList<float, double, int64_t, int32_t>;
inline constexpr sdk::DTypeSet kFeatures = dtype_set(FeatureTypes{});

/// A kernel row of domain ai.onnx.ml, for versions [first, last].
constexpr sdk::KernelRow ml_row(const char* op_type, int first, int last, sdk::DTypeSet dtypes,
                                sdk::Factory factory) {
  return {op_type, first, last, dtypes, factory, {}, nullptr, "ai.onnx.ml"};
}

/// Rows and columns of a feature tensor: [N, F], or [F] as one row. Throws INVALID_ARGUMENT for
/// more axes, with `label` as the subject.
struct FeatureShape {
  FeatureShape(sdk::Shape shape, const std::string& label);
  int64_t rows;
  int64_t columns;
};

/// The features of an input as C (float or double): the input itself, or a copy in scratch memory.
template <class C>
const C* features_as(sdk::Call& call, int slot) {
  const gantry_tensor& tensor = call.input(slot);
  if (tensor.dtype == kDType<C>) return static_cast<const C*>(tensor.data);
  return read_as<Concat<FeatureTypes, TypeList<Float16>>, C>(call, slot);
}

enum class PostTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

/// Reads attribute post_transform: a string, or (TreeEnsemble) an integer. Throws INVALID_MODEL for
/// an unknown value.
PostTransform read_post_transform(const sdk::NodeView& node);
/// Applies a post transform in place to the scores of one row.
void transform_scores(PostTransform transform, float* scores, int64_t count);

/// Class labels from one of two attributes, of integers or of strings. Throws INVALID_MODEL if both
/// are given.
class ClassLabels {
 public:
  ClassLabels(const sdk::NodeView& node, const char* ints, const char* strings);

  [[nodiscard]] int64_t count() const {
    return static_cast<int64_t>(texts_.empty() ? numbers_.size() : texts_.size());
  }
  /// Writes output 0, [rows]: the label of each class index. A class without a label is labelled by
  /// its index. A single label counts as none.
  void write(sdk::Call& call, int64_t rows, const int64_t* classes) const;

 private:
  std::vector<int64_t> numbers_;
  std::vector<std::string> texts_;
};

/// The elements of a numeric tensor attribute, converted to V; empty if the attribute is absent.
template <class V>
std::vector<V> read_tensor_numbers(const sdk::NodeView& node, const char* name) {
  std::vector<V> numbers;
  const gantry_value* value = node.get_tensor(name);
  if (!value) return numbers;
  const gantry_tensor* tensor = node.host()->value_tensor(value);
  if (!tensor) node.fail(GANTRY_INVALID_MODEL, std::string(name) + " is no tensor");
  const auto count = static_cast<size_t>(sdk::Shape(*tensor).element_count());
  numbers.reserve(count);
  dispatch<Concat<NumberTypes, TypeList<Boolean>>>(tensor->dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for (size_t i = 0; i < count; ++i) {
      // A constant may start at any byte.
      T element;
      std::memcpy(&element, static_cast<const char*>(tensor->data) + i * sizeof(T), sizeof(T));
      numbers.push_back(static_cast<V>(static_cast<Compute<T>>(element)));
    }
  });
  return numbers;
}

/// The elements of tensor attribute `tensor`, or if it is absent of the float list `fallback` (may
/// be null); empty if both are absent.
std::vector<double> read_numbers(const sdk::NodeView& node, const char* tensor,
                                 const char* fallback);

/// Throws INVALID_MODEL unless attribute `name`, whose value is `list`, has `count` items.
template <class T>
void require_count(const sdk::NodeView& node, const char* name, const std::vector<T>& list,
                   size_t count) {
  if (list.size() != count) {
    node.fail(GANTRY_INVALID_MODEL, "attribute " + std::string(name) + " has " +
                                        std::to_string(list.size()) + " items, expected " +
                                        std::to_string(count));
  }
}

}  // namespace gantry::cpu

// SPDX-License-Identifier: Apache-2.0
// What the operators of classical models (domain ai.onnx.ml) share: features as f32, the transform
// of scores, class labels, numbers from attributes, and their rows' form. Any thread.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/kernel.h>
#include <gantry/sdk/rows.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "dispatch.h"
#include "kernels/convert.h"

namespace gantry::cpu {

using FeatureTypes = TypeList<float, double, int64_t, int32_t>;
inline constexpr sdk::DTypeSet kFeatures = dtype_set(FeatureTypes{});

/// A row of this domain, for versions [first, last].
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

/// The attribute of that name: a text, or (TreeEnsemble) a number.
PostTransform read_post_transform(const sdk::NodeView& node);
/// In place, over the scores of one row.
void transform_scores(PostTransform transform, float* scores, int64_t count);

/// Labels of classes, from whichever of two attributes is there.
class ClassLabels {
 public:
  ClassLabels(const sdk::NodeView& node, const char* ints, const char* strings);

  [[nodiscard]] int64_t count() const {
    return static_cast<int64_t>(texts_.empty() ? numbers_.size() : texts_.size());
  }
  /// Writes output slot 0: the label of each of `rows` class indices. Without labels for two
  /// classes the classes 0 and 1 are their own labels.
  void write(sdk::Call& call, int64_t rows, const int64_t* classes) const;

 private:
  std::vector<int64_t> numbers_;
  std::vector<std::string> texts_;
};

/// The elements of a tensor attribute of numbers as V; empty if it is not there.
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

/// The numbers of a tensor attribute, or of a float attribute `fallback` (may be null); empty if
/// neither is there.
std::vector<double> read_numbers(const sdk::NodeView& node, const char* tensor,
                                 const char* fallback);

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

}  // namespace gantry::cpu

// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema/data_propagation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace gantry {
namespace {

// Shapes are gathered from integer vectors. Float vectors matter only where extents are scaled,
// with one element per axis.
constexpr int64_t kLongestOfIntegers = int64_t{1} << 20;
constexpr int64_t kLongestOfOthers = 64;

int64_t longest_of(int32_t element) {
  const bool is_integer =
      element == onnx::TensorProto::INT64 || element == onnx::TensorProto::INT32;
  return is_integer ? kLongestOfIntegers : kLongestOfOthers;
}

bool reads_long_vector(const onnx::DataPropagationContext& context) {
  for (size_t i = 0; i < context.getNumInputs(); ++i) {
    const onnx::TypeProto* type = context.getInputType(i);
    if (!type || !type->has_tensor_type()) continue;
    const onnx::TypeProto::Tensor& tensor = type->tensor_type();
    if (tensor.shape().dim_size() != 1) continue;
    if (tensor.shape().dim(0).dim_value() > longest_of(tensor.elem_type())) return true;
  }
  return false;
}

// Of Slice: the library adds its step to a position of 32 bits, which overflows.
bool has_long_step(onnx::DataPropagationContext& context) {
  constexpr size_t kSteps = 4;
  if (context.getNumInputs() <= kSteps) return false;
  const onnx::TensorShapeProto* steps = context.getInputData(kSteps);
  return steps && std::any_of(steps->dim().begin(), steps->dim().end(), [](const auto& step) {
           return step.dim_value() > kLongestOfIntegers || step.dim_value() < -kLongestOfIntegers;
         });
}

}  // namespace

void limit_data_propagation(onnx::OpSchema& schema) {
  if (!schema.has_data_propagation_function()) return;
  schema.PartialDataPropagationFunction(
      [is_slice = schema.Name() == "Slice",
       inner = schema.GetDataPropagationFunction()](onnx::DataPropagationContext& context) {
        if (reads_long_vector(context) || (is_slice && has_long_step(context))) return;
        try {
          inner(context);
        } catch (const onnx::InferenceError&) {  // as of sums that overflow: the run has them wrap
        }
      });
}

}  // namespace gantry

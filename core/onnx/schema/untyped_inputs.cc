// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema/untyped_inputs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace gantry {
namespace {

// Operators of onnx 1.23.2 whose inference dereferences the null type of an untyped input. A test
// runs the inference of every schema (tests/core/onnx/infer_types_test.cc).
constexpr std::array<std::string_view, 3> kReadTypesUnseen = {"DictVectorizer", "LabelEncoder",
                                                              "RegexFullMatch"};

bool has_untyped_input(const onnx::InferenceContext& context) {
  for (size_t i = 0; i < context.getNumInputs(); ++i) {
    if (context.getInputType(i) == nullptr) return true;
  }
  return false;
}

}  // namespace

void guard_untyped_inputs(onnx::OpSchema& schema) {
  if (std::find(kReadTypesUnseen.begin(), kReadTypesUnseen.end(), schema.Name()) ==
      kReadTypesUnseen.end())
    return;
  schema.TypeAndShapeInferenceFunction(
      [inner = schema.GetTypeAndShapeInferenceFunction()](onnx::InferenceContext& context) {
        if (!has_untyped_input(context)) inner(context);
      });
}

}  // namespace gantry

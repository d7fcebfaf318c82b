// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema/gradient_schema.h"

#include <algorithm>
#include <onnx/defs/shape_inference.h>

namespace gantry {
namespace {

constexpr char kTrainingDomain[] = "ai.onnx.preview.training";

void infer_gradient_types(onnx::InferenceContext& context) {
  const size_t count = std::min(context.getNumInputs(), context.getNumOutputs());
  for (size_t i = 0; i < count; ++i) {
    onnx::propagateElemTypeFromInputToOutput(context, i, i);
    if (onnx::hasInputShape(context, i)) onnx::propagateShapeFromInputToOutput(context, i, i);
  }
}

}  // namespace

bool is_gradient(const FunctionCall& call) {
  return call.domain == kTrainingDomain && call.op_type == "Gradient";
}

void teach_gradient_types(onnx::OpSchema& schema) {
  schema.TypeAndShapeInferenceFunction(infer_gradient_types);
}

}  // namespace gantry

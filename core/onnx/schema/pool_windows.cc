// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema/pool_windows.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace gantry {
namespace {

constexpr std::array<std::string_view, 3> kPools = {"AveragePool", "LpPool", "MaxPool"};

/// Element `index` of a list of integers; `otherwise` if there is no such list.
int64_t element_of(const onnx::InferenceContext& context, const char* attribute, int index,
                   int64_t otherwise) {
  const onnx::AttributeProto* list = context.getAttribute(attribute);
  return list && index < list->ints_size() ? list->ints(index) : otherwise;
}

bool counts_whole_windows(const onnx::InferenceContext& context) {
  const onnx::AttributeProto* ceil_mode = context.getAttribute("ceil_mode");
  const onnx::AttributeProto* auto_pad = context.getAttribute("auto_pad");
  const bool has_pads = !auto_pad || auto_pad->s().empty() || auto_pad->s() == "NOTSET";
  return !ceil_mode || ceil_mode->i() == 0 || !has_pads;
}

void leave_out(onnx::InferenceContext& context) {
  constexpr int kFirstSpatial = 2;  // behind batch and channels
  if (counts_whole_windows(context) || !onnx::hasInputShape(context, 0)) return;
  const onnx::TensorShapeProto& input = onnx::getInputShape(context, 0);
  for (size_t i = 0; i < context.getNumOutputs(); ++i) {
    onnx::TypeProto* type = context.getOutputType(i);
    if (!type || !type->tensor_type().has_shape()) continue;
    onnx::TensorShapeProto& output = *type->mutable_tensor_type()->mutable_shape();
    for (int axis = kFirstSpatial; axis < std::min(input.dim_size(), output.dim_size()); ++axis) {
      if (!input.dim(axis).has_dim_value() || !output.dim(axis).has_dim_value()) continue;
      const int spatial = axis - kFirstSpatial;
      const int64_t windows = output.dim(axis).dim_value();
      const int64_t begin = (windows - 1) * element_of(context, "strides", spatial, 1);
      const int64_t end = input.dim(axis).dim_value() + element_of(context, "pads", spatial, 0);
      if (windows > 1 && begin >= end) output.mutable_dim(axis)->set_dim_value(windows - 1);
    }
  }
}

}  // namespace

void leave_out_windows_in_padding(onnx::OpSchema& schema) {
  const bool is_pool = std::find(kPools.begin(), kPools.end(), schema.Name()) != kPools.end();
  if (!is_pool || !schema.domain().empty()) return;
  schema.TypeAndShapeInferenceFunction(
      [inner = schema.GetTypeAndShapeInferenceFunction()](onnx::InferenceContext& context) {
        inner(context);
        leave_out(context);
      });
}

}  // namespace gantry

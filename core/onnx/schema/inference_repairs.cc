// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema/inference_repairs.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace gantry {
namespace {

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

using Infer = onnx::InferenceFunction;

void infer_pool(const Infer& inner, onnx::InferenceContext& context) {
  inner(context);
  leave_out(context);
}

/// Of an output of the element type and rank of input 0.
void infer_rank(onnx::InferenceContext& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  onnx::TensorShapeProto unknown;
  for (int i = 0; i < onnx::getInputShape(context, 0).dim_size(); ++i) unknown.add_dim();
  onnx::updateOutputShape(context, 0, unknown);
}

void infer_resize(const Infer& inner, onnx::InferenceContext& context) {
  constexpr size_t kSizes = 3;
  const bool has_unknown_length = onnx::hasInputShape(context, kSizes) &&
                                  !context.getInputData(kSizes) &&
                                  onnx::getInputShape(context, kSizes).dim_size() == 1 &&
                                  !onnx::getInputShape(context, kSizes).dim(0).has_dim_value();
  if (!has_unknown_length || !onnx::hasInputShape(context, 0)) return inner(context);
  infer_rank(context);
}

void infer_string_normalizer(const Infer& inner, onnx::InferenceContext& context) {
  const bool may_be_one_row = onnx::hasInputShape(context, 0) &&
                              onnx::getInputShape(context, 0).dim_size() == 2 &&
                              !onnx::getInputShape(context, 0).dim(0).has_dim_value();
  may_be_one_row ? infer_rank(context) : inner(context);
}

void infer_conv_transpose(const Infer& inner, onnx::InferenceContext& context) {
  inner(context);
  const onnx::AttributeProto* given = context.getAttribute("output_shape");
  onnx::TypeProto* type = context.getOutputType(0);
  if (!given || !onnx::hasInputShape(context, 0) || !type->tensor_type().has_shape()) return;
  const int rank = onnx::getInputShape(context, 0).dim_size();
  onnx::TensorShapeProto& output = *type->mutable_tensor_type()->mutable_shape();
  if (output.dim_size() != 2 || rank <= 2 || given->ints_size() != rank - 2) return;
  for (const int64_t extent : given->ints()) output.add_dim()->set_dim_value(extent);
}

struct Repair {
  std::string_view name;
  void (*infer)(const Infer& inner, onnx::InferenceContext& context);
};

constexpr std::array<Repair, 6> kRepairs = {{{"AveragePool", infer_pool},
                                             {"LpPool", infer_pool},
                                             {"MaxPool", infer_pool},
                                             {"Resize", infer_resize},
                                             {"StringNormalizer", infer_string_normalizer},
                                             {"ConvTranspose", infer_conv_transpose}}};

}  // namespace

void repair_inference(onnx::OpSchema& schema) {
  const auto* repair = std::find_if(kRepairs.begin(), kRepairs.end(),
                                    [&](const Repair& each) { return each.name == schema.Name(); });
  if (repair == kRepairs.end() || !schema.domain().empty()) return;
  schema.TypeAndShapeInferenceFunction(
      [infer = repair->infer, inner = schema.GetTypeAndShapeInferenceFunction()](
          onnx::InferenceContext& context) { infer(inner, context); });
}

}  // namespace gantry

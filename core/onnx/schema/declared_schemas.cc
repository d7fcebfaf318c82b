// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema/declared_schemas.h"

#include <algorithm>
#include <onnx/defs/shape_inference.h>

#include "onnx/schema/schema_store.h"

namespace gantry {
namespace {

const onnx::TypeProto_Tensor* tensor_input(onnx::InferenceContext& context, int input) {
  if (input < 0 || static_cast<size_t>(input) >= context.getNumInputs()) return nullptr;
  const onnx::TypeProto* type = context.getInputType(static_cast<size_t>(input));
  return type && type->has_tensor_type() ? &type->tensor_type() : nullptr;
}

void add_extent(onnx::InferenceContext& context, const DeclaredExtent& declared,
                onnx::TensorShapeProto& shape) {
  onnx::TensorShapeProto::Dimension& extent = *shape.add_dim();
  if (declared.value >= 0) return extent.set_dim_value(declared.value);
  const onnx::TypeProto_Tensor* input = tensor_input(context, declared.input);
  if (input && input->has_shape() && declared.axis < input->shape().dim_size())
    extent = input->shape().dim(declared.axis);
}

void infer_output(onnx::InferenceContext& context, const DeclaredOutput& declared, size_t output) {
  if (declared.like >= 0 && static_cast<size_t>(declared.like) >= context.getNumInputs()) {
    fail_type_inference("a provider's manifest says that output ", output, " is like input ",
                        declared.like, "; the node has ", context.getNumInputs(), " inputs");
  }
  const onnx::TypeProto_Tensor* like = tensor_input(context, declared.like);
  const int type = declared.dtype != DType::kUndefined ? static_cast<int>(declared.dtype)
                   : like                              ? like->elem_type()
                                                       : onnx::TensorProto::UNDEFINED;
  if (type == onnx::TensorProto::UNDEFINED) return;
  onnx::updateOutputElemType(context, output, type);
  if (declared.shape) {
    onnx::TensorShapeProto shape;
    for (const DeclaredExtent& extent : *declared.shape) add_extent(context, extent, shape);
    onnx::updateOutputShape(context, output, shape);
  } else if (like && like->has_shape()) {
    onnx::updateOutputShape(context, output, like->shape());
  }
}

onnx::OpSchema schema_of(const DeclaredOperator& declared) {
  constexpr auto kAnyNumber = onnx::OpSchema::Variadic;
  constexpr bool kOfOneType = false;
  constexpr int kLeast = 0;
  onnx::OpSchema schema(declared.op_type, "manifest", 0);
  schema.SetDomain(declared.domain)
      .SinceVersion(1)
      .AllowUncheckedAttributes()
      .Input(0, "inputs", "", "TI", kAnyNumber, kOfOneType, kLeast)
      .Output(0, "outputs", "", "TO", kAnyNumber, kOfOneType, kLeast)
      .TypeConstraint("TI", onnx::OpSchema::all_tensor_types_ir13(), "")
      .TypeConstraint("TO", onnx::OpSchema::all_tensor_types_ir13(), "")
      .TypeAndShapeInferenceFunction([outputs = declared.outputs](onnx::InferenceContext& context) {
        for (size_t i = 0; i < context.getNumOutputs(); ++i)
          infer_output(context, outputs[std::min(i, outputs.size() - 1)], i);
      });
  schema.Finalize();
  return schema;
}

}  // namespace

DeclaredSchemas::DeclaredSchemas(const std::vector<DeclaredOperator>& operators) {
  for (const DeclaredOperator& declared : operators) {
    if (!declared.outputs.empty())
      schemas_.try_emplace({declared.domain, declared.op_type}, schema_of(declared));
  }
}

const onnx::OpSchema* DeclaredSchemas::GetSchema(const std::string& name, int version,
                                                 const std::string& domain) const {
  if (const auto* known = SchemaStore::instance().GetSchema(name, version, domain)) return known;
  const auto found = schemas_.find({domain, name});
  return found == schemas_.end() ? nullptr : &found->second;
}

}  // namespace gantry

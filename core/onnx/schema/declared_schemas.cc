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

// False: the type is not known.
bool infer_output(onnx::InferenceContext& context, const DeclaredOutput& declared, size_t output) {
  if (declared.like >= 0 && static_cast<size_t>(declared.like) >= context.getNumInputs()) {
    fail_type_inference("a provider declares that output ", output, " is like input ",
                        declared.like, "; the node has ", context.getNumInputs(), " inputs");
  }
  const onnx::TypeProto_Tensor* like = tensor_input(context, declared.like);
  const int type = declared.dtype != DType::kUndefined ? static_cast<int>(declared.dtype)
                   : like                              ? like->elem_type()
                                                       : onnx::TensorProto::UNDEFINED;
  if (type == onnx::TensorProto::UNDEFINED) return false;
  onnx::updateOutputElemType(context, output, type);
  if (declared.is_of_any_rank) return true;
  if (declared.shape) {
    onnx::TensorShapeProto shape;
    for (const DeclaredExtent& extent : *declared.shape) add_extent(context, extent, shape);
    onnx::updateOutputShape(context, output, shape);
  } else if (like && like->has_shape()) {
    onnx::updateOutputShape(context, output, like->shape());
  }
  return true;
}

// Whether an operator takes the inputs of a node, as far as their types are known.
bool takes_inputs(onnx::InferenceContext& context, const DeclaredOperator& declared) {
  if (declared.inputs.empty()) return true;
  for (size_t i = 0; i < context.getNumInputs(); ++i) {
    const DType wanted = declared.inputs[std::min(i, declared.inputs.size() - 1)];
    const onnx::TypeProto_Tensor* input = tensor_input(context, static_cast<int>(i));
    const int given = input ? input->elem_type() : onnx::TensorProto::UNDEFINED;
    if (wanted != DType::kUndefined && given != onnx::TensorProto::UNDEFINED &&
        given != static_cast<int>(wanted))
      return false;
  }
  return true;
}

// `operators`: all of one name; the first that takes the inputs counts. False: the type of an
// output is not known.
bool infer_node(onnx::InferenceContext& context, const std::vector<DeclaredOperator>& operators) {
  const auto found = std::find_if(
      operators.begin(), operators.end(),
      [&](const DeclaredOperator& declared) { return takes_inputs(context, declared); });
  const size_t count = context.getNumOutputs();
  if (found == operators.end() || found->outputs.empty()) return count == 0;
  bool are_known = true;
  for (size_t i = 0; i < count; ++i) {
    const DeclaredOutput& output = found->outputs[std::min(i, found->outputs.size() - 1)];
    are_known = infer_output(context, output, i) && are_known;
  }
  return are_known;
}

onnx::OpSchema schema_of(const std::vector<DeclaredOperator>& operators,
                         const std::shared_ptr<std::atomic<bool>>& has_left_untyped) {
  constexpr auto kAnyNumber = onnx::OpSchema::Variadic;
  constexpr bool kOfOneType = false;
  constexpr int kLeast = 0;
  onnx::OpSchema schema(operators.front().op_type, "manifest", 0);
  schema.SetDomain(operators.front().domain)
      .SinceVersion(1)
      .AllowUncheckedAttributes()
      .Input(0, "inputs", "", "TI", kAnyNumber, kOfOneType, kLeast)
      .Output(0, "outputs", "", "TO", kAnyNumber, kOfOneType, kLeast)
      .TypeConstraint("TI", onnx::OpSchema::all_tensor_types_ir13(), "")
      .TypeConstraint("TO", onnx::OpSchema::all_tensor_types_ir13(), "")
      .TypeAndShapeInferenceFunction(
          [operators, has_left_untyped](onnx::InferenceContext& context) {
            if (!infer_node(context, operators)) *has_left_untyped = true;
          });
  schema.Finalize();
  return schema;
}

}  // namespace

DeclaredSchemas::DeclaredSchemas(const std::vector<DeclaredOperator>& operators) {
  std::map<std::pair<std::string, std::string>, std::vector<DeclaredOperator>> named;
  for (const DeclaredOperator& declared : operators)
    named[{declared.domain, declared.op_type}].push_back(declared);
  for (const auto& [name, alike] : named)
    schemas_.emplace(name, schema_of(alike, has_left_untyped_));
}

const onnx::OpSchema* DeclaredSchemas::GetSchema(const std::string& name, int version,
                                                 const std::string& domain) const {
  if (const auto* known = SchemaStore::instance().GetSchema(name, version, domain)) return known;
  const auto found = schemas_.find({domain, name});
  return found == schemas_.end() ? nullptr : &found->second;
}

}  // namespace gantry

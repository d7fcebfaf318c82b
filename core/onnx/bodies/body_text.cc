// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/body_text.h"

#include <algorithm>
#include <onnx/defs/shape_inference.h>

namespace gantry {

bool refuse(onnx::FunctionProto& function, std::string why) {
  function.set_doc_string(std::move(why));
  return false;
}

const std::string& refusal_of(const onnx::FunctionProto& function) { return function.doc_string(); }

int64_t int_of(const BodyContext& context, const char* name, int64_t fallback) {
  const onnx::AttributeProto* found = context.getAttribute(name);
  return found ? found->i() : fallback;
}

float float_of(const BodyContext& context, const char* name, float fallback) {
  const onnx::AttributeProto* found = context.getAttribute(name);
  return found ? found->f() : fallback;
}

int64_t onnx_opset_of(const BodyContext& context) { return int_of(context, kOnnxOpset, 13); }

int rank_of(const BodyContext& context, int input) {
  const onnx::TypeProto* type = context.hasInput(input) ? context.getInputType(input) : nullptr;
  if (!type || !type->has_tensor_type() || !type->tensor_type().has_shape()) return -1;
  return type->tensor_type().shape().dim_size();
}

int64_t extent_of(const BodyContext& context, int input, int axis) {
  const int rank = rank_of(context, input);
  const int at = axis < 0 ? axis + rank : axis;
  if (rank < 0 || at < 0 || at >= rank) return -1;
  const auto& extent = context.getInputType(input)->tensor_type().shape().dim(at);
  return extent.has_dim_value() ? extent.dim_value() : -1;
}

void set_rank(onnx::InferenceContext& context, int rank) {
  if (rank < 0) return;
  onnx::TensorShapeProto shape;
  for (int axis = 0; axis < rank; ++axis) shape.add_dim();
  onnx::updateOutputShape(context, 0, shape);
}

int rank_of(const onnx::InferenceContext& context, size_t input) {
  if (input >= context.getNumInputs() || !onnx::hasInputShape(context, input)) return -1;
  return onnx::getInputShape(context, input).dim_size();
}

void propagate_shape(onnx::InferenceContext& context, size_t output) {
  if (onnx::hasInputShape(context, 0)) onnx::propagateShapeFromInputToOutput(context, 0, output);
}

int type_of(const BodyContext& context, int input) {
  const onnx::TypeProto* type = context.hasInput(input) ? context.getInputType(input) : nullptr;
  return type && type->has_tensor_type() ? type->tensor_type().elem_type() : 0;
}

std::string cast_to(int type) { return " = Cast<to = " + std::to_string(type) + ">("; }

onnx::OpSchema microsoft_schema(const char* name, const std::vector<Formal>& inputs,
                                const std::vector<Formal>& outputs) {
  onnx::OpSchema schema(name, kSchemaFile, 0);
  schema.SetDomain("com.microsoft").SinceVersion(1).AllowUncheckedAttributes();
  const auto describe = [&](const std::vector<Formal>& formals, bool is_output) {
    for (size_t i = 0; i < formals.size(); ++i) {
      const std::string type = (is_output ? "TO" : "TI") + std::to_string(i);
      const auto option =
          formals[i].is_optional ? onnx::OpSchema::Optional : onnx::OpSchema::Single;
      const int at = static_cast<int>(i);
      if (is_output) {
        schema.Output(at, formals[i].name, "", type, option);
      } else {
        schema.Input(at, formals[i].name, "", type, option);
      }
      schema.TypeConstraint(type, onnx::OpSchema::all_tensor_types_ir13(), "");
    }
  };
  describe(inputs, false);
  describe(outputs, true);
  return schema;
}

void BodyText::add_lines(std::string_view lines) {
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    if (line.find_first_not_of(' ') != std::string_view::npos) add(std::string(line));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

void BodyText::copy_attributes(const BodyContext& context,
                               std::initializer_list<const char*> names) {
  onnx::NodeProto& node = *function_.mutable_node(function_.node_size() - 1);
  for (const char* name : names) {
    if (const onnx::AttributeProto* given = context.getAttribute(name))
      *node.add_attribute() = *given;
  }
}

void BodyText::pick(const std::string& to, const std::string& tensor, int64_t place, int64_t axis) {
  number(to + "_place", place);
  add(to + " = Gather<axis = " + std::to_string(axis) + ">(" + tensor + ", " + to + "_place)");
}

void BodyText::extent(const std::string& to, const std::string& tensor, int64_t axis) {
  add(to + "_shape = Shape(" + tensor + ")");
  ints(to + "_begin", {axis});
  ints(to + "_end", {axis + 1});
  add(to + " = Slice(" + to + "_shape, " + to + "_begin, " + to + "_end)");
}

void BodyText::slice(const std::string& to, const std::string& tensor, const std::string& begin,
                     const std::string& end, int64_t axis) {
  ints(to + "_axis", {axis});
  add(to + " = Slice(" + tensor + ", " + begin + ", " + end + ", " + to + "_axis)");
}

void BodyText::reshape(const std::string& to, const std::string& tensor,
                       const std::vector<std::string>& extents) {
  std::string all;
  for (const std::string& extent : extents) all += (all.empty() ? "" : ", ") + extent;
  add(to + "_target = Concat<axis = 0>(" + all + ")");
  add(to + " = Reshape(" + tensor + ", " + to + "_target)");
}

void BodyText::reshape(const std::string& to, const std::string& tensor,
                       const std::vector<int64_t>& extents) {
  ints(to + "_target", extents);
  add(to + " = Reshape(" + tensor + ", " + to + "_target)");
}

void BodyText::extent_of_last(const std::string& to, const std::string& tensor) {
  add(to + "_shape = Shape(" + tensor + ")");
  ints(to + "_begin", {-1});
  ints(to + "_end", {int64_t{1} << 62});
  add(to + " = Slice(" + to + "_shape, " + to + "_begin, " + to + "_end)");
}

void BodyText::unsqueeze(const std::string& to, const std::string& tensor,
                         const std::vector<int64_t>& axes) {
  ints(to + "_axes", axes);
  add(to + " = Unsqueeze(" + tensor + ", " + to + "_axes)");
}

void BodyText::count(const std::string& to, const std::string& end) {
  number(to + "_zero", int64_t{0});
  number(to + "_one", int64_t{1});
  add(to + "_limit = Squeeze(" + end + ")");
  add(to + " = Range(" + to + "_zero, " + to + "_limit, " + to + "_one)");
}

namespace {

void infer_row(onnx::InferenceContext& context, std::string_view types) {
  for (size_t i = 0; i < std::min(types.size(), context.getNumOutputs()); ++i) {
    switch (types[i]) {
      case '-':
        break;
      case 'f':
        onnx::updateOutputElemType(context, i, onnx::TensorProto::FLOAT);
        break;
      case 'i':
        onnx::updateOutputElemType(context, i, onnx::TensorProto::INT32);
        break;
      case 'h': {
        const onnx::AttributeProto* positive = context.getAttribute("positive");
        onnx::updateOutputElemType(
            context, i,
            positive && positive->i() == 0 ? onnx::TensorProto::INT32 : onnx::TensorProto::UINT32);
        break;
      }
      case 'l':
        onnx::updateOutputElemType(context, i, onnx::TensorProto::INT64);
        break;
      default:
        onnx::propagateElemTypeFromInputToOutput(context, static_cast<size_t>(types[i] - '0'), i);
    }
  }
}

std::vector<Formal> formals_of(std::string_view names, std::vector<std::string>& storage) {
  std::vector<Formal> formals;
  std::vector<bool> optional;
  while (!names.empty()) {
    const size_t end = std::min(names.find(", "), names.size());
    std::string name(names.substr(0, end));
    optional.push_back(name.back() == '?');
    if (optional.back()) name.pop_back();
    storage.push_back(std::move(name));
    names.remove_prefix(std::min(end + 2, names.size()));
  }
  for (size_t i = 0; i < storage.size(); ++i) formals.push_back({storage[i].c_str(), optional[i]});
  return formals;
}

}  // namespace

onnx::OpSchema schema_of(const BodyRow& row, const char* domain) {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  onnx::OpSchema schema =
      microsoft_schema(row.name, formals_of(row.inputs, inputs), formals_of(row.outputs, outputs));
  schema.SetDomain(domain).TypeAndShapeInferenceFunction(
      [types = row.output_types](onnx::InferenceContext& context) { infer_row(context, types); });
  if (row.build) set_body(schema, row.build);
  return schema;
}

void set_body(onnx::OpSchema& schema, BuildBody* build) {
  schema.SetContextDependentFunctionBodyBuilder([build](const BodyContext& context,
                                                        const onnx::OpSchema& self,
                                                        onnx::FunctionProto& function) {
    BodyText body(function);
    if (!build(context, body)) return false;
    self.BuildFunction(function);
    return true;
  });
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/body_text.h"

namespace gantry {

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

int type_of(const BodyContext& context, int input) {
  const onnx::TypeProto* type = context.hasInput(input) ? context.getInputType(input) : nullptr;
  return type && type->has_tensor_type() ? type->tensor_type().elem_type() : 0;
}

onnx::OpSchema microsoft_schema(const char* name, const std::vector<Formal>& inputs,
                                const std::vector<Formal>& outputs) {
  onnx::OpSchema schema(name, "gantry", 0);
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

}  // namespace gantry

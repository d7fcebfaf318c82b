// SPDX-License-Identifier: Apache-2.0
#include "onnx/gradient/backward.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <onnx/defs/tensor_proto_util.h>
#include <utility>

#include "onnx/messages/payload.h"

namespace gantry {
namespace {

/// Operators with derivative 0: step functions, and operators that return sizes.
bool has_no_slope(const std::string& op_type) {
  static const std::set<std::string> kFlat = {
      "And",   "ArgMax",  "ArgMin",         "ConstantOfShape",
      "Equal", "Greater", "GreaterOrEqual", "IsInf",
      "IsNaN", "Less",    "LessOrEqual",    "NonZero",
      "Not",   "Or",      "Shape",          "Sign",
      "Size",  "Xor"};
  return kFlat.contains(op_type);
}

/// The bits of a float16 for the constants that the rules use, rounded to nearest.
uint16_t half_bits(double value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude < 0x38800000U) {  // multiples of 2^-24
    const auto tiny = static_cast<uint32_t>(std::lround(std::bit_cast<float>(magnitude) * 0x1p24F));
    return static_cast<uint16_t>(sign | tiny);
  }
  const uint32_t rounded = magnitude - (112U << 23) + 0xFFFU + ((magnitude >> 13) & 1U);
  return static_cast<uint16_t>(sign | std::min(rounded >> 13, 0x7C00U));
}

/// Likewise for bfloat16.
uint16_t bfloat_bits(double value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

/// The tensor of a constant of the graph; null: the value is no constant.
const onnx::TensorProto* find_constant(const onnx::GraphProto& graph, const std::string& name) {
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (tensor.name() == name) return &tensor;
  }
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() != "Constant" || !node.domain().empty() || node.output_size() != 1 ||
        node.output(0) != name)
      continue;
    const onnx::AttributeProto* value = find_attribute(node, "value");
    return value ? &value->t() : nullptr;
  }
  return nullptr;
}

template <class T>
std::vector<double> read_numbers(const onnx::TensorProto& tensor) {
  const std::vector<T> numbers = onnx::ParseData<T>(&tensor);
  return {numbers.begin(), numbers.end()};
}

}  // namespace

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, const char* name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}
int64_t int_of(const onnx::NodeProto& node, const char* name, int64_t fallback) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute ? attribute->i() : fallback;
}
float float_of(const onnx::NodeProto& node, const char* name, float fallback) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute ? attribute->f() : fallback;
}
std::string text_of(const onnx::NodeProto& node, const char* name, const char* fallback) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute ? attribute->s() : fallback;
}
std::vector<int64_t> ints_of(const onnx::NodeProto& node, const char* name, size_t count,
                             int64_t fallback) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  if (!attribute) return std::vector<int64_t>(count, fallback);
  return {attribute->ints().begin(), attribute->ints().end()};
}
int axis_of(const onnx::NodeProto& node, int rank, int64_t fallback) {
  const int64_t axis = int_of(node, "axis", fallback);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void Backward::fail(Code code, const std::string& what) const {
  throw Error(code, "Gradient \"" + gradient_.name() + "\": " + what);
}

void Backward::follow(const onnx::NodeProto& node) {
  if (node.domain().empty() && has_no_slope(node.op_type())) return;
  for (const std::string& input : node.input()) {
    if (!depends_.contains(input)) continue;
    for (const std::string& output : node.output()) depends_.insert(output);
    return;
  }
}

void Backward::refuse_from(const onnx::NodeProto& node, int first) const {
  for (int i = first; i < node.input_size(); ++i) {
    if (wants(node.input(i))) {
      fail(Code::kUnsupported, "the derivative of " + node.op_type() + " by its input " +
                                   std::to_string(i) + " has no rule");
    }
  }
}

std::string Backward::add(const char* op_type, const Names& inputs, const Attributes& attributes) {
  return add_all(op_type, inputs, attributes, 1).front();
}

Names Backward::add_all(const char* op_type, const Names& inputs, const Attributes& attributes,
                        int outputs) {
  onnx::NodeProto& node = *body.add_node();
  node.set_op_type(op_type);
  for (const std::string& input : inputs) node.add_input(input);
  for (const onnx::AttributeProto& attribute : attributes) *node.add_attribute() = attribute;
  Names names;
  for (int i = 0; i < outputs; ++i) {
    names.push_back("gantry.gradient." + std::to_string(count_++));
    node.add_output(names.back());
  }
  node.set_name(names.front());
  made_types_[names.front()] = made_type(node);
  return names;
}

std::string Backward::list(const std::vector<int64_t>& numbers) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(numbers.size()));
  for (const int64_t number : numbers) tensor.add_int64_data(number);
  return add("Constant", {}, {onnx::MakeAttribute("value", tensor)});
}

std::string Backward::whole(int64_t number) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_int64_data(number);
  return add("Constant", {}, {onnx::MakeAttribute("value", tensor)});
}

std::string Backward::numbers(const std::string& like, const std::vector<double>& values,
                              const std::vector<int64_t>& extents) {
  onnx::TensorProto tensor;
  tensor.set_data_type(element_type(like));
  for (const int64_t extent : extents) tensor.add_dims(extent);
  for (const double value : values) {
    if (tensor.data_type() == onnx::TensorProto::DOUBLE) {
      tensor.add_double_data(value);
    } else if (tensor.data_type() == onnx::TensorProto::FLOAT16) {
      tensor.add_int32_data(half_bits(value));
    } else if (tensor.data_type() == onnx::TensorProto::BFLOAT16) {
      tensor.add_int32_data(bfloat_bits(value));
    } else if (tensor.data_type() == onnx::TensorProto::FLOAT) {
      tensor.add_float_data(static_cast<float>(value));
    } else {
      fail(Code::kUnsupported, "\"" + like + "\" is no tensor of floats");
    }
  }
  return add("Constant", {}, {onnx::MakeAttribute("value", tensor)});
}

std::string Backward::shape_of(const std::string& name) {
  const onnx::TypeProto::Tensor* type = find_type(name);
  if (type && type->has_shape()) {
    const std::vector<int64_t> extents = extents_of(name);
    if (std::find(extents.begin(), extents.end(), -1) == extents.end()) return list(extents);
  }
  return add("Shape", {name});
}

std::string Backward::ones_like(const std::string& like) {
  return add("Expand", {number(like, 1), shape_of(like)});
}

std::string Backward::mask_of(const onnx::NodeProto& node) {
  for (onnx::NodeProto& own : *body.mutable_node()) {
    if (own.output_size() == 0 || own.output(0) != node.output(0)) continue;
    if (own.output_size() < 2) own.add_output();
    if (own.output(1).empty()) own.set_output(1, "gantry.gradient." + std::to_string(count_++));
    return own.output(1);
  }
  throw Error(Code::kInternal, "\"" + node.output(0) + "\" is not in the differentiated part");
}

std::string Backward::zeros_like(const std::string& like) {
  return add("Expand", {number(like, 0), shape_of(like)});
}

std::string Backward::sum_over(const std::string& value, const std::vector<int64_t>& axes) {
  const onnx::AttributeProto keep = onnx::MakeAttribute("keepdims", int64_t{1});
  if (opset_ < 13) return add("ReduceSum", {value}, {onnx::MakeAttribute("axes", axes), keep});
  return add("ReduceSum", {value, list(axes)}, {keep});
}

std::string Backward::mean_over(const std::string& value, const std::vector<int64_t>& axes) {
  const onnx::AttributeProto keep = onnx::MakeAttribute("keepdims", int64_t{1});
  if (opset_ < 18) return add("ReduceMean", {value}, {onnx::MakeAttribute("axes", axes), keep});
  return add("ReduceMean", {value, list(axes)}, {keep});
}

std::string Backward::transposed(const std::string& value, int rank) {
  std::vector<int64_t> order(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) order[static_cast<size_t>(i)] = i;
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return add("Transpose", {value}, {onnx::MakeAttribute("perm", order)});
}

int Backward::rank_of(const std::string& name) const {
  const onnx::TypeProto::Tensor* type = find_type(name);
  if (!type || !type->has_shape())
    fail(Code::kUnsupported, "the rank of \"" + name + "\" is not known");
  return type->shape().dim_size();
}

std::vector<int64_t> Backward::extents_of(const std::string& name) const {
  std::vector<int64_t> extents(static_cast<size_t>(rank_of(name)), -1);
  const auto& dims = find_type(name)->shape().dim();
  for (size_t i = 0; i < extents.size(); ++i) {
    const auto& dim = dims[static_cast<int>(i)];
    if (dim.has_dim_value()) extents[i] = dim.dim_value();
  }
  return extents;
}

std::vector<int64_t> Backward::known_extents(const std::string& name,
                                             const std::string& op_type) const {
  std::vector<int64_t> extents = extents_of(name);
  if (std::find(extents.begin(), extents.end(), -1) != extents.end()) {
    fail(Code::kUnsupported, "the derivative of " + op_type + " needs the shape of \"" + name +
                                 "\", which is not known before the run");
  }
  return extents;
}

std::optional<std::vector<double>> Backward::constant(const std::string& name) const {
  const onnx::TensorProto* tensor = find_constant(graph_, name);
  if (!tensor || is_placeholder(*tensor)) return std::nullopt;
  switch (tensor->data_type()) {
    case onnx::TensorProto::FLOAT:
      return read_numbers<float>(*tensor);
    case onnx::TensorProto::DOUBLE:
      return read_numbers<double>(*tensor);
    case onnx::TensorProto::INT32:
      return read_numbers<int32_t>(*tensor);
    case onnx::TensorProto::INT64:
      return read_numbers<int64_t>(*tensor);
    default:
      return std::nullopt;
  }
}

int32_t Backward::element_type(const std::string& name) const {
  if (const onnx::TypeProto::Tensor* type = find_type(name)) return type->elem_type();
  const auto made = made_types_.find(name);
  if (made == made_types_.end() || made->second == onnx::TensorProto::UNDEFINED)
    fail(Code::kUnsupported, "the type of \"" + name + "\" is not known");
  return made->second;
}

int32_t Backward::made_type(const onnx::NodeProto& node) const {
  const std::string& op_type = node.op_type();
  if (op_type == "Shape" || op_type == "Size") return onnx::TensorProto::INT64;
  if (op_type == "Constant") return node.attribute(0).t().data_type();
  if (op_type == "Cast") return static_cast<int32_t>(int_of(node, "to", 0));
  static const std::set<std::string> kConditions = {"And", "Equal", "Greater", "Less"};
  if (kConditions.contains(op_type)) return onnx::TensorProto::BOOL;
  const std::string& like = node.input(op_type == "Where" ? 1 : 0);
  if (const onnx::TypeProto::Tensor* type = find_type(like)) return type->elem_type();
  const auto made = made_types_.find(like);
  return made == made_types_.end() ? onnx::TensorProto::UNDEFINED : made->second;
}

std::string Backward::derivative(const std::string& name) {
  Names& parts = parts_[name];
  if (parts.empty()) parts.push_back(zeros_like(name));
  while (parts.size() > 1) {
    const std::string sum = add("Add", {parts[parts.size() - 2], parts.back()});
    parts.pop_back();
    parts.back() = sum;
  }
  return parts.front();
}

const onnx::TypeProto::Tensor* Backward::find_type(const std::string& name) const {
  const auto found = types_.find(name);
  if (found == types_.end() || !found->second->has_tensor_type()) return nullptr;
  return &found->second->tensor_type();
}

std::string Backward::narrowed(const std::string& name, const std::string& like,
                               const std::string& part, int own_axes) {
  const int wide = rank_of(like);
  const int missing = wide - rank_of(name);
  std::vector<int64_t> axes;
  for (int i = 0; i < wide - own_axes; ++i) {
    if (i < missing) {
      axes.push_back(i);
      continue;
    }
    const auto& own = find_type(name)->shape().dim(i - missing);
    const auto& other = find_type(like)->shape().dim(i);
    const bool is_same = own.has_dim_value() ? own.dim_value() == other.dim_value()
                                             : own.has_dim_param() && other.has_dim_param() &&
                                                   own.dim_param() == other.dim_param();
    if (is_same) continue;
    if (!own.has_dim_value() || !other.has_dim_value()) {
      std::string what = "whether \"";
      what.append(name).append("\" is broadcast to the shape of \"").append(like);
      fail(Code::kUnsupported, what.append("\" is not known before the run"));
    }
    axes.push_back(i);
  }
  if (axes.empty()) return part;
  const std::string sum = sum_over(part, axes);
  return missing == 0 ? sum : reshaped(sum, name);
}

}  // namespace gantry

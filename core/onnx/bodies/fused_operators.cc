// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/fused_operators.h"

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <onnx/defs/shape_inference.h>
#include <string>
#include <utility>

#include "onnx/bodies/body_text.h"

namespace gantry {
namespace {

/// An activation and its parameters, in the order in which a node lists them.
struct Activation {
  const char* op_type;
  std::vector<const char*> numbers;
};

const Activation* find_activation(const std::string& name) {
  static const std::vector<Activation> kActivations = {{"Relu", {}},
                                                       {"Sigmoid", {}},
                                                       {"Tanh", {}},
                                                       {"Softplus", {}},
                                                       {"Softsign", {}},
                                                       {"LeakyRelu", {"alpha"}},
                                                       {"ThresholdedRelu", {"alpha"}},
                                                       {"Elu", {"alpha"}},
                                                       {"HardSigmoid", {"alpha", "beta"}},
                                                       {"HardSwish", {}},
                                                       {"Clip", {"min", "max"}}};
  const auto found =
      std::find_if(kActivations.begin(), kActivations.end(),
                   [&](const Activation& activation) { return activation.op_type == name; });
  return found == kActivations.end() ? nullptr : &*found;
}

std::string activation_of(const BodyContext& context) {
  const onnx::AttributeProto* given = context.getAttribute("activation");
  return given ? given->s() : "";
}

onnx::NodeProto& last_node(onnx::FunctionProto& function) {
  return *function.mutable_node(function.node_size() - 1);
}

void copy_attributes(const BodyContext& context, std::initializer_list<const char*> names,
                     onnx::NodeProto& node) {
  for (const char* name : names) {
    if (const onnx::AttributeProto* given = context.getAttribute(name))
      *node.add_attribute() = *given;
  }
}

/// Applies the activation: Y of y. False: ONNX has no such activation.
bool add_activation(const BodyContext& context, const std::vector<float>& numbers, BodyText& body,
                    onnx::FunctionProto& function) {
  constexpr int64_t kClipTakesInputs = 11;  // first opset in which Clip has its bounds as inputs
  const std::string name = activation_of(context);
  if (name.empty()) {
    body.add("Y = Identity(y)");
    return true;
  }
  const Activation* activation = find_activation(name);
  if (!activation) return body.refuse("activation \"" + name + "\" is unknown");
  const size_t count = std::min(numbers.size(), activation->numbers.size());
  if (name == "Clip" && onnx_opset_of(context) >= kClipTakesInputs) {
    const std::string cast = " = Cast<to = " + std::to_string(type_of(context, 0)) + ">(";
    std::string inputs = "y";
    for (size_t i = 0; i < count; ++i) {
      const std::string limit = activation->numbers[i];
      body.number(limit + "_float", numbers[i]);
      std::string line = limit;
      body.add(line.append(cast).append(limit).append("_float)"));
      inputs.append(", ").append(limit);
    }
    body.add("Y = Clip(" + inputs + ")");
    return true;
  }
  body.add("Y = " + name + "(y)");
  for (size_t i = 0; i < count; ++i) {
    onnx::AttributeProto& number = *last_node(function).add_attribute();
    number.set_name(activation->numbers[i]);
    number.set_type(onnx::AttributeProto::FLOAT);
    number.set_f(numbers[i]);
  }
  return true;
}

bool build_conv(const BodyContext& context, const onnx::OpSchema& schema,
                onnx::FunctionProto& function) {
  constexpr int kAdded = 3;
  BodyText body(function);
  const bool has_added = context.hasInput(kAdded);
  body.add(has_added ? "products = Conv(X, W, B)" : "y = Conv(X, W, B)");
  copy_attributes(context, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"},
                  last_node(function));
  if (has_added) body.sum("y", "products", "Z");
  const onnx::AttributeProto* given = context.getAttribute("activation_params");
  std::vector<float> numbers;
  if (given) numbers.assign(given->floats().begin(), given->floats().end());
  if (!add_activation(context, numbers, body, function)) return false;
  schema.BuildFunction(function);
  return true;
}

bool build_gemm(const BodyContext& context, const onnx::OpSchema& schema,
                onnx::FunctionProto& function) {
  BodyText body(function);
  body.add("y = Gemm(A, B, C)");
  copy_attributes(context, {"alpha", "beta", "transA", "transB"}, last_node(function));
  std::vector<float> numbers;
  for (const char* name : {"activation_alpha", "activation_beta"}) {
    if (!context.getAttribute(name)) break;
    numbers.push_back(float_of(context, name, 0));
  }
  if (!add_activation(context, numbers, body, function)) return false;
  schema.BuildFunction(function);
  return true;
}

/// Transposes the operand as the attributes say (transBatchA/B: axis 0 after the batch axes;
/// transA/B: the last two axes). False: the rank is unknown.
bool add_transposed(const BodyContext& context, BodyText& body, int slot, const std::string& side,
                    std::string& operand) {
  const int rank = rank_of(context, slot);
  const bool transposes = int_of(context, ("trans" + side).c_str(), 0) != 0;
  const bool transposes_batch = int_of(context, ("transBatch" + side).c_str(), 0) != 0;
  if ((!transposes && !transposes_batch) || rank == 1) return true;
  if (rank < 1)
    return body.refuse("trans" + side + ": the rank of " + side + " is not known before the run");
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  if (transposes_batch && rank > 2) std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (transposes) std::swap(order[order.size() - 1], order[order.size() - 2]);
  std::string axes;
  for (const int axis : order) axes += (axes.empty() ? "" : ", ") + std::to_string(axis);
  body.add(operand + "_transposed = Transpose<perm = [" + axes + "]>(" + operand + ")");
  operand += "_transposed";
  return true;
}

bool build_matmul(const BodyContext& context, const onnx::OpSchema& schema,
                  onnx::FunctionProto& function) {
  BodyText body(function);
  std::string a = "A";
  std::string b = "B";
  if (!add_transposed(context, body, 0, "A", a) || !add_transposed(context, body, 1, "B", b))
    return false;
  const float alpha = float_of(context, "alpha", 1);
  const std::string product = "MatMul(" + a + ", " + b + ")";
  if (alpha == 1) {
    body.add("Y = " + product);
  } else {
    body.add("product = " + product);
    body.number("alpha_float", alpha);
    body.add("alpha = Cast<to = " + std::to_string(type_of(context, 0)) + ">(alpha_float)");
    body.add("Y = Mul(product, alpha)");
  }
  schema.BuildFunction(function);
  return true;
}

/// `is_product`: a MatMul, possibly batched; else the result has the rank of the first input.
void add_inference_and_body(onnx::OpSchema& schema, bool is_product,
                            bool (*build)(const BodyContext&, const onnx::OpSchema&,
                                          onnx::FunctionProto&)) {
  schema
      .TypeAndShapeInferenceFunction([is_product](onnx::InferenceContext& context) {
        onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
        const int first = rank_of(context, 0);
        const int second = is_product ? rank_of(context, 1) : first;
        const bool are_matrices = std::min(first, second) > 1;
        set_rank(context, are_matrices ? std::max(first, second) : -1);
      })
      .SetContextDependentFunctionBodyBuilder(build);
}

}  // namespace

std::vector<onnx::OpSchema> fused_schemas() {
  std::vector<onnx::OpSchema> schemas;
  schemas.push_back(microsoft_schema(
      "FusedConv", {{"X", false}, {"W", false}, {"B", true}, {"Z", true}}, {{"Y", false}}));
  add_inference_and_body(schemas.back(), false, build_conv);
  schemas.push_back(
      microsoft_schema("FusedGemm", {{"A", false}, {"B", false}, {"C", true}}, {{"Y", false}}));
  add_inference_and_body(schemas.back(), false, build_gemm);
  for (const char* name : {"FusedMatMul", "TransposeMatMul", "SparseToDenseMatMul"}) {
    schemas.push_back(microsoft_schema(name, {{"A", false}, {"B", false}}, {{"Y", false}}));
    add_inference_and_body(schemas.back(), true, build_matmul);
  }
  return schemas;
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
#include "onnx/validate/check.h"

#include <gantry/error.h>

#include <algorithm>
#include <map>
#include <onnx/checker.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "onnx/schema/schema.h"
#include "onnx/schema/schema_store.h"
#include "onnx/validate/library_message.h"
#include "onnx/validate/order.h"

namespace gantry {
namespace {

// Inputs and outputs without a shape. The checker requires one, although a tensor of unknown rank
// has none, and exporters leave it out.
std::vector<onnx::TypeProto::Tensor*> unranked_values(onnx::ModelProto& model) {
  std::vector<onnx::TypeProto::Tensor*> unranked;
  const auto collect = [&](onnx::ValueInfoProto& info) {
    if (!info.type().has_tensor_type() || info.type().tensor_type().has_shape()) return;
    unranked.push_back(info.mutable_type()->mutable_tensor_type());
  };
  onnx::for_each_graph(model, [&](onnx::GraphProto& graph) {
    for (auto& input : *graph.mutable_input()) collect(input);
    for (auto& output : *graph.mutable_output()) collect(output);
  });
  return unranked;
}

// Outputs of the main graph without a type, which type inference will set; the checker requires
// one.
std::vector<onnx::ValueInfoProto*> untyped_outputs(onnx::ModelProto& model) {
  std::vector<onnx::ValueInfoProto*> untyped;
  for (onnx::ValueInfoProto& output : *model.mutable_graph()->mutable_output()) {
    if (output.type().value_case() == onnx::TypeProto::VALUE_NOT_SET) untyped.push_back(&output);
  }
  return untyped;
}

// Runs the library's checker with SchemaStore: its function for whole models uses its own registry.
void run_checker(const onnx::ModelProto& model) {
  if (model.ir_version() <= 0) throw std::runtime_error("The model does not say its ir_version.");
  if (model.ir_version() > onnx::IR_VERSION) {
    throw std::runtime_error("The model's ir_version " + std::to_string(model.ir_version()) +
                             " is newer than " + std::to_string(onnx::IR_VERSION) +
                             ", the newest that is supported.");
  }
  std::unordered_set<std::string> keys;
  for (const auto& entry : model.metadata_props()) {
    if (!keys.insert(entry.key()).second)
      throw std::runtime_error("The metadata have the key \"" + entry.key() + "\" twice.");
  }
  constexpr int64_t kImportsOpsets = 3;
  std::unordered_map<std::string, int> opsets;
  for (const auto& import : model.opset_import())
    opsets[import.domain()] = static_cast<int>(import.version());
  if (model.ir_version() < kImportsOpsets) {
    if (!opsets.empty()) {
      throw std::runtime_error("A model of an ir_version below 3 imports no opsets; this one, of " +
                               std::to_string(model.ir_version()) + ", does.");
    }
    opsets[onnx::ONNX_DOMAIN] = 1;
  } else if (opsets.empty()) {
    throw std::runtime_error("The model imports no opset.");
  }
  onnx::checker::CheckerContext context;
  context.set_schema_registry(&SchemaStore::instance());
  // Before this IR version the checker requires each initializer to be an input (leniencies.h).
  constexpr int64_t kConstantsNeedNoInput = 4;
  context.set_ir_version(static_cast<int>(std::max(model.ir_version(), kConstantsNeedNoInput)));
  context.set_opset_imports(opsets);
  const onnx::checker::LexicalScopeContext scope;
  onnx::checker::check_graph(model.graph(), context, scope);
  constexpr int64_t kHasFunctions = 8;
  if (model.ir_version() >= kHasFunctions)
    onnx::checker::check_model_local_functions(model, context, scope);
}

// Checks absent inputs of variadic parameters, which the library's checker does for single ones
// only.
void check_variadic_inputs(const onnx::NodeProto& node, const std::map<std::string, int>& opsets) {
  const auto opset = opsets.find(normal_domain(node.domain()));
  if (opset == opsets.end()) return;
  const onnx::OpSchema* schema =
      SchemaStore::instance().GetSchema(node.op_type(), opset->second, opset->first);
  if (!schema || schema->inputs().empty()) return;
  const onnx::OpSchema::FormalParameter& last = schema->inputs().back();
  if (last.GetOption() != onnx::OpSchema::Variadic) return;
  for (int i = static_cast<int>(schema->inputs().size()) - 1; i < node.input_size(); ++i) {
    if (!node.input(i).empty()) continue;
    throw Error(Code::kInvalidModel, node.op_type() + " \"" + node.name() + "\": input " +
                                         std::to_string(i) + " is left out, which \"" +
                                         last.GetName() +
                                         "\" of any number of inputs does not allow");
  }
}

void check_variadic_inputs(onnx::ModelProto& model) {
  const auto check_nodes = [](auto& nodes, const std::map<std::string, int>& opsets) {
    for (onnx::NodeProto& node : nodes) {
      check_variadic_inputs(node, opsets);
      onnx::for_each_body(node, [&](const onnx::GraphProto& body) {
        for (const onnx::NodeProto& inner : body.node()) check_variadic_inputs(inner, opsets);
      });
    }
  };
  check_nodes(*model.mutable_graph()->mutable_node(), read_opsets(model.opset_import()));
  for (onnx::FunctionProto& function : *model.mutable_functions())
    check_nodes(*function.mutable_node(), read_opsets(function.opset_import()));
}

}  // namespace

void check_model(onnx::ModelProto& model, const std::vector<Payload>& payloads) {
  check_order(model.graph());
  // The checker requires as many bytes as a tensor's shape needs. A placeholder has none, so the
  // checker sees an empty tensor.
  std::vector<std::pair<onnx::TensorProto*, google::protobuf::RepeatedField<int64_t>>> shown;
  onnx::for_each_tensor(model, [&](onnx::TensorProto& tensor) {
    check_type(tensor);
    if (!is_placeholder(tensor)) return;
    const uint64_t needed = payload_bytes_needed(tensor);
    const uint64_t found = payload_of(tensor, payloads).size_bytes;
    if (needed != found) {
      throw Error(Code::kInvalidModel,
                  "tensor \"" + tensor.name() + "\" needs " + std::to_string(needed) +
                      " bytes by its shape and type; found " + std::to_string(found));
    }
    shown.emplace_back(&tensor, tensor.dims());
  });
  for (auto& [tensor, dims] : shown) {
    tensor->clear_dims();
    tensor->add_dims(0);
  }
  const std::vector<onnx::ValueInfoProto*> untyped = untyped_outputs(model);
  for (onnx::ValueInfoProto* output : untyped)
    output->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  const std::vector<onnx::TypeProto::Tensor*> unranked = unranked_values(model);
  for (onnx::TypeProto::Tensor* type : unranked) type->mutable_shape();
  std::optional<std::string> problem;
  try {
    run_checker(model);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  for (onnx::TypeProto::Tensor* type : unranked) type->clear_shape();
  for (onnx::ValueInfoProto* output : untyped) output->clear_type();
  for (auto& [tensor, dims] : shown) tensor->mutable_dims()->Swap(&dims);
  if (problem) reject_model("checker", *problem);
  check_variadic_inputs(model);
}

}  // namespace gantry

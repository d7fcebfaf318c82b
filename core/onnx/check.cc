// SPDX-License-Identifier: Apache-2.0
#include "onnx/check.h"

#include <gantry/error.h>

#include <onnx/checker.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "onnx/library_message.h"
#include "onnx/order.h"
#include "onnx/schema_store.h"

namespace gantry {
namespace {

// Inputs and outputs without a shape. The checker asks for one, although a tensor of unknown rank
// has none to give, and exporters do leave it out.
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

// The library's checker with our schemas: its function for whole models takes its own registry.
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
  context.set_ir_version(static_cast<int>(model.ir_version()));
  context.set_opset_imports(opsets);
  const onnx::checker::LexicalScopeContext scope;
  onnx::checker::check_graph(model.graph(), context, scope);
  constexpr int64_t kHasFunctions = 8;
  if (model.ir_version() >= kHasFunctions)
    onnx::checker::check_model_local_functions(model, context, scope);
}

}  // namespace

void check_model(onnx::ModelProto& model, const std::vector<Payload>& payloads) {
  check_order(model.graph());
  // The checker wants as many bytes as a tensor's shape needs. A placeholder has none, so it is
  // shown as an empty tensor.
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
  const std::vector<onnx::TypeProto::Tensor*> unranked = unranked_values(model);
  for (onnx::TypeProto::Tensor* type : unranked) type->mutable_shape();
  std::optional<std::string> problem;
  try {
    run_checker(model);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  for (onnx::TypeProto::Tensor* type : unranked) type->clear_shape();
  for (auto& [tensor, dims] : shown) tensor->mutable_dims()->Swap(&dims);
  if (problem) reject_model("checker", *problem);
}

}  // namespace gantry

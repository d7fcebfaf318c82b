// SPDX-License-Identifier: Apache-2.0
#include "onnx/normalize.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "onnx/schema.h"

namespace gantry {
namespace {

bool is_constant(const onnx::NodeProto& node) {
  return node.op_type() == "Constant" && node.domain().empty() && node.output_size() == 1 &&
         !node.output(0).empty() && node.attribute_size() == 1 &&
         node.attribute(0).ref_attr_name().empty();
}

// Moves the value of a Constant node into an initializer of the graph. False: the attribute has
// another form.
bool move_constant(onnx::NodeProto& node, onnx::GraphProto& graph) {
  onnx::AttributeProto& attribute = *node.mutable_attribute(0);
  const std::string& form = attribute.name();
  if (form == "sparse_value" && attribute.has_sparse_tensor()) {
    onnx::SparseTensorProto* sparse = graph.add_sparse_initializer();
    sparse->Swap(attribute.mutable_sparse_tensor());
    sparse->mutable_values()->set_name(node.output(0));
    return true;
  }
  onnx::TensorProto tensor;
  if (form == "value" && attribute.has_t()) {
    tensor.Swap(attribute.mutable_t());
  } else if (form == "value_int" || form == "value_ints") {
    tensor.set_data_type(onnx::TensorProto::INT64);
    if (form == "value_int") tensor.add_int64_data(attribute.i());
    tensor.mutable_int64_data()->MergeFrom(attribute.ints());
    if (form == "value_ints") tensor.add_dims(attribute.ints_size());
  } else if (form == "value_float" || form == "value_floats") {
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    if (form == "value_float") tensor.add_float_data(attribute.f());
    tensor.mutable_float_data()->MergeFrom(attribute.floats());
    if (form == "value_floats") tensor.add_dims(attribute.floats_size());
  } else if (form == "value_string" || form == "value_strings") {
    tensor.set_data_type(onnx::TensorProto::STRING);
    if (form == "value_string") tensor.add_string_data(attribute.s());
    tensor.mutable_string_data()->MergeFrom(attribute.strings());
    if (form == "value_strings") tensor.add_dims(attribute.strings_size());
  } else {
    return false;
  }
  tensor.set_name(node.output(0));
  graph.add_initializer()->Swap(&tensor);
  return true;
}

// Takes the initializers that are inputs too out of the graph.
void move_defaults(onnx::GraphProto& graph, std::vector<onnx::TensorProto>& defaults) {
  std::unordered_set<std::string> inputs;
  for (const auto& input : graph.input()) inputs.insert(input.name());
  google::protobuf::RepeatedPtrField<onnx::TensorProto> all;
  all.Swap(graph.mutable_initializer());
  for (onnx::TensorProto& tensor : all) {
    if (inputs.contains(tensor.name())) {
      defaults.emplace_back().Swap(&tensor);
    } else {
      graph.add_initializer()->Swap(&tensor);
    }
  }
}

void normalize_graph(onnx::GraphProto& graph) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  nodes.Swap(graph.mutable_node());
  for (onnx::NodeProto& node : nodes) {
    if (!is_constant(node) || !move_constant(node, graph)) graph.add_node()->Swap(&node);
  }
  std::unordered_set<std::string> constants;
  for (const auto& tensor : graph.initializer()) constants.insert(tensor.name());
  for (const auto& sparse : graph.sparse_initializer()) constants.insert(sparse.values().name());
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> inputs;
  inputs.Swap(graph.mutable_input());
  for (onnx::ValueInfoProto& input : inputs) {
    if (!constants.contains(input.name())) graph.add_input()->Swap(&input);
  }
}

}  // namespace

void normalize_domains(onnx::ModelProto& model) {
  const auto normalize = [](auto& item) {
    if (!item.domain().empty()) item.set_domain(normal_domain(item.domain()));
  };
  for (auto& import : *model.mutable_opset_import()) normalize(import);
  for (auto& function : *model.mutable_functions()) {
    for (auto& import : *function.mutable_opset_import()) normalize(import);
  }
  onnx::for_each_node(model, normalize);
}

void normalize_model(onnx::ModelProto& model, std::vector<onnx::TensorProto>& defaults) {
  constexpr int64_t kInputsAreDistinct = 4;
  if (model.ir_version() >= kInputsAreDistinct) move_defaults(*model.mutable_graph(), defaults);
  onnx::for_each_graph(model, normalize_graph);
  // Before IR version 4 every initializer had to be an input as well; they no longer are.
  constexpr int64_t kIrVersion = 10;
  model.set_ir_version(std::max(model.ir_version(), kIrVersion));
}

}  // namespace gantry

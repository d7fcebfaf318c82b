// SPDX-License-Identifier: Apache-2.0
#include "onnx/validate/normalize.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "onnx/bodies/microsoft.h"
#include "onnx/messages/body_domain.h"
#include "onnx/schema/schema.h"
#include "onnx/schema/schema_store.h"

namespace gantry {
namespace {

constexpr int64_t kInputsAreDistinct =
    4;  // the first IR version in which initializers need not be inputs

bool is_constant(const onnx::NodeProto& node) {
  return node.op_type() == "Constant" && is_onnx_domain(node.domain()) && node.output_size() == 1 &&
         !node.output(0).empty() && node.attribute_size() == 1 &&
         node.attribute(0).ref_attr_name().empty();
}

// Moves the value of a Constant node into an initializer of the graph. False: the attribute has
// another form.
bool move_constant(onnx::NodeProto& node, onnx::GraphProto& graph) {
  onnx::AttributeProto& attribute = *node.mutable_attribute(0);
  if (attribute.name() == "sparse_value" && attribute.has_sparse_tensor()) {
    onnx::SparseTensorProto* sparse = graph.add_sparse_initializer();
    sparse->Swap(attribute.mutable_sparse_tensor());
    sparse->mutable_values()->set_name(node.output(0));
    return true;
  }
  onnx::TensorProto tensor;
  if (!take_constant(attribute, tensor)) return false;
  tensor.set_name(node.output(0));
  graph.add_initializer()->Swap(&tensor);
  return true;
}

// Moves the initializers that are inputs too from the graph to `defaults`.
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

// A sparse tensor is a dense one here, in every form: what a session is given, and what it returns.
void declare_dense(google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
  for (onnx::ValueInfoProto& value : values) {
    if (!value.type().has_sparse_tensor_type()) continue;
    onnx::TypeProto::SparseTensor sparse;
    sparse.Swap(value.mutable_type()->mutable_sparse_tensor_type());
    onnx::TypeProto::Tensor& dense = *value.mutable_type()->mutable_tensor_type();
    dense.set_elem_type(sparse.elem_type());
    if (sparse.has_shape()) dense.mutable_shape()->Swap(sparse.mutable_shape());
  }
}

void normalize_graph(onnx::GraphProto& graph) {
  declare_dense(*graph.mutable_input());
  declare_dense(*graph.mutable_output());
  declare_dense(*graph.mutable_value_info());
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

// ONNX Runtime's tools name optional outputs that no node reads. Without the name no kernel or body
// has to compute them.
void release_unread_outputs(onnx::GraphProto& main) {
  std::unordered_set<std::string> read;
  std::vector<onnx::NodeProto*> nodes;
  onnx::for_each_graph(main, [&](onnx::GraphProto& graph) {
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      read.insert(node.input().begin(), node.input().end());
      if (node.domain() == kMicrosoftDomain && node.output_size() > 1) nodes.push_back(&node);
    }
    for (const auto& output : graph.output()) read.insert(output.name());
  });
  for (onnx::NodeProto* node : nodes) {
    const auto* schema = SchemaStore::instance().newest(node->op_type(), node->domain());
    if (!schema) continue;
    const auto count = std::min(node->output_size(), static_cast<int>(schema->outputs().size()));
    for (int i = 0; i < count; ++i) {
      const bool is_optional =
          schema->outputs()[static_cast<size_t>(i)].GetOption() == onnx::OpSchema::Optional;
      if (is_optional && !read.contains(node->output(i))) node->mutable_output(i)->clear();
    }
    while (node->output_size() > 1 && node->output(node->output_size() - 1).empty())
      node->mutable_output()->RemoveLast();
  }
}

}  // namespace

bool take_constant(onnx::AttributeProto& attribute, onnx::TensorProto& tensor) {
  const std::string& form = attribute.name();
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
  return true;
}

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
  if (model.ir_version() >= kInputsAreDistinct) move_defaults(*model.mutable_graph(), defaults);
  release_unread_outputs(*model.mutable_graph());
  onnx::for_each_graph(model, normalize_graph);
  // Before IR version 4 every initializer must be an input too, which is no longer so here.
  constexpr int64_t kIrVersion = 10;
  model.set_ir_version(std::max(model.ir_version(), kIrVersion));
}

std::vector<ConstantInput> make_defaults_constant(onnx::ModelProto& model,
                                                  const std::set<std::string>& open) {
  std::vector<ConstantInput> taken;
  if (model.ir_version() < kInputsAreDistinct) return taken;
  onnx::GraphProto& graph = *model.mutable_graph();
  std::unordered_set<std::string> defaults;
  for (const auto& tensor : graph.initializer()) defaults.insert(tensor.name());
  std::unordered_set<std::string> constants;  // sparse initializers: constant in every plan
  for (const auto& sparse : graph.sparse_initializer()) constants.insert(sparse.values().name());
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> inputs;
  inputs.Swap(graph.mutable_input());
  int position = 0;
  for (onnx::ValueInfoProto& input : inputs) {
    if (defaults.contains(input.name()) && !open.contains(input.name())) {
      taken.push_back({std::move(input), position++});
      continue;
    }
    if (!constants.contains(input.name())) ++position;
    graph.add_input()->Swap(&input);
  }
  return taken;
}

}  // namespace gantry

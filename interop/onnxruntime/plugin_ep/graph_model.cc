// SPDX-License-Identifier: Apache-2.0
#include "plugin_ep/graph_model.h"

#include <algorithm>
#include <utility>

#include "plugin_ep/host_types.h"

namespace gantry::ort {
namespace {

onnx::ValueInfoProto declaration_of(const HostApi& api, const host::NamedValue* info) {
  onnx::ValueInfoProto made;
  made.set_name(name_of(api, info));
  onnx::TypeProto type = type_of(api, info);
  if (type.value_case() != onnx::TypeProto::VALUE_NOT_SET) *made.mutable_type() = std::move(type);
  return made;
}

}  // namespace

GraphModel::GraphModel(const HostApi& api, const host::Graph* graph,
                       const std::set<std::string>& trusted)
    : api_(api), trusted_(trusted) {
  constexpr int64_t kLeast = 4;  // from which on initializers need be no inputs, as here
  model_.set_ir_version(std::max(api.value<int64_t>(Slot::kGraphGetOnnxIrVersion, graph), kLeast));
  const auto count = api.value<size_t>(Slot::kGraphGetNumOperatorSets, graph);
  std::vector<const char*> domains(count);
  std::vector<int64_t> versions(count);
  api.call(Slot::kGraphGetOperatorSets, graph, domains.data(), versions.data(), count);
  for (size_t i = 0; i < count; ++i) {
    onnx::OperatorSetIdProto& opset = *model_.add_opset_import();
    opset.set_domain(domains[i]);
    opset.set_version(versions[i]);
  }
  model_.mutable_graph()->set_name("part of a graph of ONNX Runtime");
}

std::string GraphModel::add(const host::Node* node) {
  onnx::NodeProto message = message_of_node(node);
  message.set_name(new_name(message.name().empty() ? message.op_type() : message.name()));
  note(inputs_of(api_, node));
  note(captured_by(api_, node));
  for (const host::NamedValue* output : outputs_of(api_, node)) {
    if (!output) continue;
    const std::string name = name_of(api_, output);
    made_.insert(name);
    known_[name] = output;
  }
  std::string name = message.name();
  *model_.mutable_graph()->add_node() = std::move(message);
  return name;
}

void GraphModel::finish(const std::vector<std::string>& outputs) {
  for (const auto& [name, info] : read_) {
    if (made_.count(name) == 0) add_source(name, info);
  }
  for (const std::string& name : outputs) {
    onnx::ValueInfoProto output;
    output.set_name(name);
    const auto known = known_.find(name);
    if (known != known_.end()) {
      output = declaration_of(api_, known->second);
      // What the nodes make says more than the declaration, and may be something else.
      if (output.type().has_tensor_type())
        output.mutable_type()->mutable_tensor_type()->clear_shape();
    }
    *model_.mutable_graph()->add_output() = std::move(output);
  }
}

void GraphModel::add_source(const std::string& name, const host::NamedValue* info) {
  onnx::GraphProto& graph = *model_.mutable_graph();
  if (!api_.value<bool>(Slot::kValueInfoIsConstantInitializer, info)) {
    onnx::ValueInfoProto& input = *graph.add_input();
    input = declaration_of(api_, info);
    if (trusted_.count(name) > 0 || !input.type().tensor_type().has_shape()) return;
    for (auto& extent :
         *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
      extent.clear_value();
    return;
  }
  const Tensor tensor =
      tensor_of(api_, api_.value<const host::AnyValue*>(Slot::kValueInfoGetInitializerValue, info));
  onnx::TensorProto& message = *graph.add_initializer();
  message.set_name(name);
  message.set_data_type(static_cast<int>(tensor.dtype()));
  for (const int64_t extent : tensor.shape()) message.add_dims(extent);
  message.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto& location = *message.add_external_data();
  location.set_key("location");
  location.set_value("memory of ONNX Runtime");
  initializers_[name] = tensor;
}

onnx::NodeProto GraphModel::message_of_node(const host::Node* node) const {
  onnx::NodeProto made;
  made.set_name(api_.text(Slot::kNodeGetName, node));
  made.set_op_type(api_.text(Slot::kNodeGetOperatorType, node));
  made.set_domain(api_.text(Slot::kNodeGetDomain, node));
  const NodeValues values = values_of(api_, node);
  for (const std::string& name : values.inputs) made.add_input(name);
  for (const std::string& name : values.outputs) made.add_output(name);

  std::vector<const char*> body_names(api_.value<size_t>(Slot::kNodeGetNumSubgraphs, node));
  std::vector<const host::Graph*> bodies(body_names.size());
  if (!bodies.empty())
    api_.call(Slot::kNodeGetSubgraphs, node, bodies.data(), bodies.size(), body_names.data());
  for (size_t i = 0; i < bodies.size(); ++i) {
    onnx::AttributeProto& body = *made.add_attribute();
    body.set_name(body_names[i]);
    body.set_type(onnx::AttributeProto::GRAPH);
    *body.mutable_g() = body_of(bodies[i]);
  }
  const std::set<std::string> taken(body_names.begin(), body_names.end());
  for (const auto* attribute :
       api_.list<host::Attribute>(Slot::kNodeGetNumAttributes, Slot::kNodeGetAttributes, node)) {
    if (taken.count(api_.text(Slot::kOpAttrGetName, attribute)) == 0)
      *made.add_attribute() = attribute_of(api_, attribute);
  }
  return made;
}

onnx::GraphProto GraphModel::body_of(const host::Graph* graph) const {
  onnx::GraphProto body;
  body.set_name("body");
  for (const auto* input :
       api_.list<host::NamedValue>(Slot::kGraphGetNumInputs, Slot::kGraphGetInputs, graph))
    *body.add_input() = declaration_of(api_, input);
  for (const auto* output :
       api_.list<host::NamedValue>(Slot::kGraphGetNumOutputs, Slot::kGraphGetOutputs, graph))
    *body.add_output() = declaration_of(api_, output);
  for (const auto* initializer : api_.list<host::NamedValue>(Slot::kGraphGetNumInitializers,
                                                             Slot::kGraphGetInitializers, graph)) {
    onnx::TensorProto& message = *body.add_initializer();
    message = message_of(
        api_, api_.value<const host::AnyValue*>(Slot::kValueInfoGetInitializerValue, initializer));
    message.set_name(name_of(api_, initializer));
  }
  for (const host::Node* node : nodes_of(api_, graph)) *body.add_node() = message_of_node(node);
  return body;
}

std::string GraphModel::new_name(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !node_names_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

void GraphModel::note(const ValueInfos& read) {
  for (const host::NamedValue* info : read) {
    std::string name = name_of(api_, info);
    if (name.empty() || !known_.emplace(name, info).second) continue;
    read_.emplace_back(std::move(name), info);
  }
}

}  // namespace gantry::ort

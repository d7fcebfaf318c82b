// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/generation/decoder_loop.h"

#include <algorithm>
#include <map>
#include <utility>

namespace gantry {
namespace {

constexpr char kTokensBefore[] = "tokens_before";
constexpr char kWasRunning[] = "was_running";

// What the exporter calls an extent is another number in each iteration, and may be the name of
// another extent around the loop.
void forget_symbols(onnx::TypeProto& type) {
  if (!type.has_tensor_type()) return;
  for (auto& extent : *type.mutable_tensor_type()->mutable_shape()->mutable_dim())
    extent.clear_dim_param();
}

void add_value(google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>* values,
               const std::string& name, const onnx::TypeProto& type) {
  onnx::ValueInfoProto& value = *values->Add();
  value.set_name(name);
  *value.mutable_type() = type;
}

// Calls visit(std::string&) for the name of every value that the graph and its bodies have.
template <class Visit>
void for_each_definition(onnx::GraphProto& graph, const Visit& visit) {
  onnx::for_each_graph(graph, [&](onnx::GraphProto& each) {
    for (auto& input : *each.mutable_input()) visit(*input.mutable_name());
    for (auto& tensor : *each.mutable_initializer()) visit(*tensor.mutable_name());
    for (auto& tensor : *each.mutable_sparse_initializer())
      visit(*tensor.mutable_values()->mutable_name());
    for (auto& node : *each.mutable_node()) {
      for (std::string& output : *node.mutable_output()) visit(output);
    }
  });
}

// The same for what nodes and outputs read, and for the names of types.
template <class Visit>
void for_each_use(onnx::GraphProto& graph, const Visit& visit) {
  onnx::for_each_graph(graph, [&](onnx::GraphProto& each) {
    for (auto& node : *each.mutable_node()) {
      for (std::string& input : *node.mutable_input()) visit(input);
    }
    for (auto& output : *each.mutable_output()) visit(*output.mutable_name());
    for (auto& value : *each.mutable_value_info()) visit(*value.mutable_name());
  });
}

}  // namespace

DecoderLoop::DecoderLoop(const onnx::GraphProto& decoder) : decoder_(decoder), step_(step_nodes_) {
  std::map<std::string, std::string> names;
  for (int i = 0; i < decoder_.input_size(); ++i)
    names.try_emplace(decoder_.input(i).name(), "decoder_input_" + std::to_string(i));
  for (int i = 0; i < decoder_.output_size(); ++i)
    names.try_emplace(decoder_.output(i).name(), "decoder_output_" + std::to_string(i));
  for_each_definition(decoder_,
                      [&](const std::string& name) { names.try_emplace(name, "decoder/" + name); });
  names.erase("");
  const auto rename = [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  };
  for_each_use(decoder_, [&](std::string& name) {
    if (!name.empty() && !names.contains(name)) outer_.insert(name);
    rename(name);
  });
  for_each_definition(decoder_, rename);
  onnx::for_each_graph(decoder_, [](onnx::GraphProto& each) {
    for (auto& value : *each.mutable_input()) forget_symbols(*value.mutable_type());
    for (auto& value : *each.mutable_value_info()) forget_symbols(*value.mutable_type());
    // Of the model's opset, unlike the nodes of the body.
    for (auto& node : *each.mutable_node()) {
      if (node.domain().empty()) node.set_domain("ai.onnx");
    }
  });
}

bool DecoderLoop::keeps_apart(BodyText& body, const std::vector<std::string>& formals) const {
  std::vector<std::string> names = formals;
  for (const onnx::FunctionProto* nodes : {&body.function(), &step_nodes_}) {
    for (const onnx::NodeProto& node : nodes->node())
      names.insert(names.end(), node.output().begin(), node.output().end());
  }
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const std::string& name) { return outer_.contains(name); });
  if (found == names.end()) return true;
  return body.refuse("decoder: expected no value around it that is called " + *found +
                     ", a name of the search");
}

onnx::TypeProto type_of_rank(int element_type, int rank) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(element_type);
  for (int axis = 0; axis < rank; ++axis) type.mutable_tensor_type()->mutable_shape()->add_dim();
  return type;
}

void DecoderLoop::carry_input(int input, const std::string& first, const std::string& next) {
  const onnx::ValueInfoProto& value = decoder_.input(input);
  carry(value.name(), value.type(), first, next);
}

void DecoderLoop::carry(const std::string& name, const onnx::TypeProto& type,
                        const std::string& first, const std::string& next) {
  carried_.push_back({name, type, first, next, name + "_end"});
}

void DecoderLoop::collect(const std::string& name, int element_type, int rank) {
  onnx::ValueInfoProto& value = collected_.emplace_back();
  value.set_name(name);
  *value.mutable_type() = type_of_rank(element_type, rank);
}

void DecoderLoop::add_to(BodyText& body, const std::string& limit, const std::string& running) {
  onnx::NodeProto loop;
  loop.set_op_type("Loop");
  loop.add_input(limit);
  loop.add_input("");
  onnx::AttributeProto& attribute = *loop.add_attribute();
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& graph = *attribute.mutable_g();
  graph.set_name("token");
  *graph.mutable_node() = decoder_.node();
  *graph.mutable_initializer() = decoder_.initializer();
  *graph.mutable_sparse_initializer() = decoder_.sparse_initializer();
  *graph.mutable_value_info() = decoder_.value_info();
  for (const onnx::NodeProto& node : step_nodes_.node()) *graph.add_node() = node;
  add_value(graph.mutable_input(), kTokensBefore, type_of_rank(onnx::TensorProto::INT64, 0));
  add_value(graph.mutable_input(), kWasRunning, type_of_rank(onnx::TensorProto::BOOL, 0));
  add_value(graph.mutable_output(), running, type_of_rank(onnx::TensorProto::BOOL, 0));
  for (const Carried& one : carried_) {
    add_value(graph.mutable_input(), one.name, one.type);
    onnx::TypeProto type = one.type;
    type.mutable_tensor_type()->clear_shape();
    add_value(graph.mutable_output(), one.next, type);
    loop.add_input(one.first);
    loop.add_output(one.last);
  }
  for (const onnx::ValueInfoProto& value : collected_) {
    *graph.add_output() = value;
    loop.add_output(value.name() + "_all");
  }
  body.add_node(std::move(loop));
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/generation/decoder_loop.h"

#include <algorithm>
#include <set>
#include <utility>

namespace gantry {
namespace {

constexpr char kTokensBefore[] = "tokens_before";
constexpr char kWasRunning[] = "was_running";

void add_value(google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>* values,
               const std::string& name, const onnx::TypeProto& type) {
  onnx::ValueInfoProto& value = *values->Add();
  value.set_name(name);
  *value.mutable_type() = type;
}

// Names of the inputs: those around the loop, the others by their index.
std::vector<std::string> input_names(const onnx::GraphProto& decoder,
                                     std::vector<std::string> around) {
  around.resize(static_cast<size_t>(decoder.input_size()));
  for (size_t i = 0; i < around.size(); ++i) {
    if (around[i].empty()) around[i] = "decoder_input_" + std::to_string(i);
  }
  return around;
}

onnx::GraphProto& add_graph(onnx::NodeProto& node, const char* name) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  attribute.mutable_g()->set_name(name);
  return *attribute.mutable_g();
}

void copy_nodes(const onnx::GraphProto& from, onnx::GraphProto& to) {
  to.mutable_node()->MergeFrom(from.node());
  to.mutable_initializer()->MergeFrom(from.initializer());
  to.mutable_sparse_initializer()->MergeFrom(from.sparse_initializer());
  to.mutable_value_info()->MergeFrom(from.value_info());
}

void add_node(onnx::GraphProto& graph, const char* op_type, const std::vector<std::string>& inputs,
              const std::string& output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op_type);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
}

}  // namespace

onnx::TypeProto type_of_rank(int element_type, int rank) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(element_type);
  for (int axis = 0; axis < rank; ++axis) type.mutable_tensor_type()->mutable_shape()->add_dim();
  return type;
}

DecoderLoop::DecoderLoop(const onnx::GraphProto& decoder, std::vector<std::string> around)
    : decoder_(decoder, "decoder", input_names(decoder, std::move(around))), step_(step_nodes_) {}

std::string DecoderLoop::output(int index) const {
  return first_outputs_.empty() ? decoder_.output(index) : "output_" + std::to_string(index);
}

void DecoderLoop::carry_input(int input, const std::string& first, const std::string& next) {
  const onnx::ValueInfoProto& value = decoder_.graph.input(input);
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

void DecoderLoop::add_decoder(onnx::GraphProto& graph) const {
  if (first_outputs_.empty()) return copy_nodes(decoder_.graph, graph);
  onnx::NodeProto& zero = *graph.add_node();
  zero.set_op_type("Constant");
  zero.add_output("no_token_before");
  onnx::AttributeProto& value = *zero.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(onnx::TensorProto::INT64);
  value.mutable_t()->add_int64_data(0);
  add_node(graph, "Equal", {kTokensBefore, "no_token_before"}, "is_first_token");
  onnx::NodeProto choice;
  choice.set_op_type("If");
  choice.add_input("is_first_token");
  onnx::GraphProto& first = add_graph(choice, "then_branch");
  onnx::GraphProto& later = add_graph(choice, "else_branch");
  copy_nodes(decoder_.graph, later);
  for (int i = 0; i < outputs(); ++i) {
    const onnx::TypeProto type =
        type_of_rank(decoder_.graph.output(i).type().tensor_type().elem_type(),
                     decoder_.graph.output(i).type().tensor_type().shape().dim_size());
    const std::string given = "first_output_" + std::to_string(i);
    add_node(first, "Identity", {first_outputs_.at(static_cast<size_t>(i))}, given);
    add_value(first.mutable_output(), given, type);
    add_value(later.mutable_output(), decoder_.output(i), type);
    choice.add_output(output(i));
  }
  graph.add_node()->Swap(&choice);
}

void DecoderLoop::add_to(BodyText& body, const std::string& limit, const std::string& running) {
  onnx::NodeProto loop;
  loop.set_op_type("Loop");
  loop.add_input(limit);
  loop.add_input("");
  onnx::GraphProto& graph = add_graph(loop, "body");
  add_decoder(graph);
  graph.mutable_node()->MergeFrom(step_nodes_.node());
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

bool DecoderLoop::keeps_apart(BodyText& body, const std::vector<std::string>& formals,
                              const SubgraphCopy* other) const {
  std::vector<std::string> names = formals;
  for (const onnx::FunctionProto* nodes : {&body.function(), &step_nodes_}) {
    for (const onnx::NodeProto& node : nodes->node())
      names.insert(names.end(), node.output().begin(), node.output().end());
  }
  const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return decoder_.outer.contains(name) || (other && other->outer.contains(name));
  });
  if (found == names.end()) return true;
  return body.refuse("decoder: expected no value around it that is called " + *found +
                     ", a name of the search");
}

}  // namespace gantry

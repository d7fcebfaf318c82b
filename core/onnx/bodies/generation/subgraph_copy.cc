// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/generation/subgraph_copy.h"

#include <map>

namespace gantry {
namespace {

void forget_symbols(onnx::TypeProto& type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return;
  for (auto& extent : *type.mutable_tensor_type()->mutable_shape()->mutable_dim())
    extent.clear_dim_param();
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

SubgraphCopy::SubgraphCopy(const onnx::GraphProto& original, const std::string& prefix,
                           const std::vector<std::string>& inputs)
    : graph(original) {
  std::map<std::string, std::string> names;
  for (int i = 0; i < graph.input_size(); ++i)
    names.try_emplace(graph.input(i).name(), inputs.at(static_cast<size_t>(i)));
  for (int i = 0; i < graph.output_size(); ++i)
    names.try_emplace(graph.output(i).name(), prefix + "_output_" + std::to_string(i));
  for_each_definition(
      graph, [&](const std::string& name) { names.try_emplace(name, prefix + "/" + name); });
  names.erase("");
  const auto rename = [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  };
  for_each_use(graph, [&](std::string& name) {
    if (!name.empty() && !names.contains(name)) outer.insert(name);
    rename(name);
  });
  for_each_definition(graph, rename);
  onnx::for_each_graph(graph, [](onnx::GraphProto& each) {
    for (auto& value : *each.mutable_input()) forget_symbols(*value.mutable_type());
    for (auto& value : *each.mutable_value_info()) forget_symbols(*value.mutable_type());
    for (auto& node : *each.mutable_node()) {
      if (node.domain().empty()) node.set_domain("ai.onnx");
    }
  });
}

}  // namespace gantry

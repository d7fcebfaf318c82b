// SPDX-License-Identifier: Apache-2.0
#include "test_graph.h"

#include <utility>

namespace gantry::checks {

uint32_t TestGraph::add_input(uint32_t dtype, const std::vector<int64_t>& shape, int32_t rank) {
  const auto id = static_cast<uint32_t>(values_.size());
  values_.push_back({dtype, rank, shape, "v" + std::to_string(id), nullptr, GANTRY_NONE});
  inputs_.push_back(id);
  return id;
}

uint32_t TestGraph::add_constant(std::shared_ptr<HostValue> value) {
  const auto id = static_cast<uint32_t>(values_.size());
  const auto rank = static_cast<int32_t>(value->shape.size());
  values_.push_back(
      {value->dtype, rank, value->shape, "c" + std::to_string(id), std::move(value), GANTRY_NONE});
  return id;
}

uint32_t TestGraph::add_node(const std::string& op_type, const std::string& domain,
                             int32_t since_version, const std::vector<uint32_t>& inputs,
                             uint32_t output_count, uint32_t dtype,
                             const TestAttributes& attributes) {
  const auto id = static_cast<uint32_t>(nodes_.size());
  Node node = {"n" + std::to_string(id), op_type, domain, since_version, inputs, {}, attributes};
  for (uint32_t i = 0; i < output_count; ++i) {
    node.outputs.push_back(static_cast<uint32_t>(values_.size()));
    values_.push_back({dtype, -1, {}, "v" + std::to_string(node.outputs.back()), nullptr, id});
  }
  nodes_.push_back(std::move(node));
  return id;
}

gantry_attribute& TestGraph::add_attribute(const std::string& name, uint32_t type, uint64_t count) {
  gantry_attribute view = {};
  view.size = sizeof(view);
  view.type = type;
  view.name = to_str(name);
  view.count = count;
  attribute_views_.push_back(view);
  attribute_lists_.back().push_back(&attribute_views_.back());
  return attribute_views_.back();
}

void TestGraph::view_attributes(const Node& node, gantry_node& view) {
  attribute_lists_.emplace_back();
  for (const auto& [name, value] : node.attributes.ints)
    add_attribute(name, GANTRY_ATTRIBUTE_INT, 1).ints = &value;
  for (const auto& [name, values] : node.attributes.int_lists)
    add_attribute(name, GANTRY_ATTRIBUTE_INTS, values.size()).ints = values.data();
  for (const auto& [name, value] : node.attributes.floats)
    add_attribute(name, GANTRY_ATTRIBUTE_FLOAT, 1).floats = &value;
  for (const auto& [name, value] : node.attributes.strings) {
    strings_.push_back(to_str(value));
    add_attribute(name, GANTRY_ATTRIBUTE_STRING, 1).strings = &strings_.back();
  }
  for (const auto& [name, value] : node.attributes.tensors) {
    tensors_.push_back(to_boundary(*value));
    add_attribute(name, GANTRY_ATTRIBUTE_TENSOR, 1).tensors = &tensors_.back();
  }
  view.attributes = attribute_lists_.back().data();
  view.attribute_count = static_cast<uint32_t>(attribute_lists_.back().size());
}

const gantry_graph* TestGraph::view() {
  value_views_.clear();
  value_pointers_.clear();
  node_views_.clear();
  node_pointers_.clear();
  attribute_views_.clear();
  attribute_lists_.clear();
  strings_.clear();
  tensors_.clear();
  outputs_.clear();
  for (const Value& value : values_) {
    gantry_value_info info = {};
    info.size = sizeof(info);
    info.kind = GANTRY_KIND_TENSOR;
    info.dtype = value.dtype;
    info.rank = value.rank;
    info.shape = value.rank > 0 ? value.shape.data() : nullptr;
    info.constant = value.constant ? to_boundary(*value.constant) : nullptr;
    info.name = to_str(value.name);
    info.producer = value.producer;
    value_views_.push_back(info);
    value_pointers_.push_back(&value_views_.back());
  }
  for (const Node& node : nodes_) {
    gantry_node view = {};
    view.size = sizeof(view);
    view.since_version = node.since_version;
    view.name = to_str(node.name);
    view.op_type = to_str(node.op_type);
    view.domain = to_str(node.domain);
    view.inputs = node.inputs.data();
    view.input_count = static_cast<uint32_t>(node.inputs.size());
    view.outputs = node.outputs.data();
    view.output_count = static_cast<uint32_t>(node.outputs.size());
    view_attributes(node, view);
    node_views_.push_back(view);
    node_pointers_.push_back(&node_views_.back());
    for (const uint32_t input : node.inputs) {
      if (input != GANTRY_NONE) ++value_views_[input].read_count;
    }
    for (const uint32_t output : node.outputs) {
      outputs_.push_back(output);
      value_views_[output].is_graph_output = 1;
    }
  }
  graph_ = {};
  graph_.size = sizeof(graph_);
  graph_.nodes = node_pointers_.data();
  graph_.node_count = static_cast<uint32_t>(node_pointers_.size());
  graph_.values = value_pointers_.data();
  graph_.value_count = static_cast<uint32_t>(value_pointers_.size());
  graph_.inputs = inputs_.data();
  graph_.input_count = static_cast<uint32_t>(inputs_.size());
  graph_.outputs = outputs_.data();
  graph_.output_count = static_cast<uint32_t>(outputs_.size());
  graph_.name = to_str("test");
  return &graph_;
}

std::string TestGraph::content() const {
  std::string text;
  const auto put = [&](const void* bytes, size_t size) {
    text.append(static_cast<const char*>(bytes), size);
  };
  put(&graph_, sizeof(graph_));
  for (const gantry_value_info& value : value_views_) put(&value, sizeof(value));
  for (const gantry_node& node : node_views_) put(&node, sizeof(node));
  for (const gantry_attribute& attribute : attribute_views_) put(&attribute, sizeof(attribute));
  for (const Value& value : values_) {
    put(value.shape.data(), value.shape.size() * sizeof(int64_t));
    if (value.constant && value.constant->tensor.data)
      put(value.constant->tensor.data, value.constant->tensor.size_bytes);
  }
  return text;
}

}  // namespace gantry::checks

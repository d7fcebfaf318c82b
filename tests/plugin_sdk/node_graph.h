// SPDX-License-Identifier: Apache-2.0
// A graph made by hand, for tests of what providers ask of a graph.
#pragma once

#include <gantry/sdk/graph_index.h>

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace gantry::sdk {

using Nodes = std::vector<uint32_t>;

/// A graph of nodes with one output each, in the order in which they are added.
class NodeGraph {
 public:
  uint32_t value(std::vector<int64_t> shape, std::vector<std::string> symbols = {}) {
    Value& made = values_.emplace_back();
    made.shape = std::move(shape);
    made.names = std::move(symbols);
    for (const std::string& name : made.names) made.symbols.push_back(to_str(name));
    made.info.size = sizeof(made.info);
    made.info.kind = GANTRY_KIND_TENSOR;
    made.info.dtype = GANTRY_FLOAT;
    made.info.producer = GANTRY_NONE;
    made.info.rank = static_cast<int32_t>(made.shape.size());
    made.info.shape = made.shape.data();
    made.info.symbols = made.symbols.empty() ? nullptr : made.symbols.data();
    return static_cast<uint32_t>(values_.size() - 1);
  }
  /// The output of a node.
  uint32_t node(const char* op_type, Nodes inputs, const char* domain = "") {
    const uint32_t output = value({2, 3});
    values_[output].info.producer = static_cast<uint32_t>(nodes_.size());
    for (const uint32_t input : inputs) {
      if (input != GANTRY_NONE) ++values_[input].info.read_count;
    }
    Node& made = nodes_.emplace_back();
    made.inputs = std::move(inputs);
    made.output = output;
    made.raw.size = sizeof(made.raw);
    made.raw.op_type = to_str(op_type);
    made.raw.domain = to_str(domain);
    made.raw.inputs = made.inputs.data();
    made.raw.input_count = static_cast<uint32_t>(made.inputs.size());
    made.raw.outputs = &made.output;
    made.raw.output_count = 1;
    return output;
  }
  gantry_value_info& info(uint32_t value) { return values_[value].info; }

  const gantry_graph& view() {
    for (const Value& value : values_) infos_.push_back(&value.info);
    for (const Node& node : nodes_) raws_.push_back(&node.raw);
    graph_.size = sizeof(graph_);
    graph_.nodes = raws_.data();
    graph_.node_count = static_cast<uint32_t>(raws_.size());
    graph_.values = infos_.data();
    graph_.value_count = static_cast<uint32_t>(infos_.size());
    return graph_;
  }

 private:
  struct Value {
    std::vector<int64_t> shape;
    std::vector<std::string> names;
    std::vector<gantry_str> symbols;
    gantry_value_info info = {};
  };
  struct Node {
    Nodes inputs;
    uint32_t output = 0;
    gantry_node raw = {};
  };
  std::deque<Value> values_;
  std::deque<Node> nodes_;
  std::vector<const gantry_value_info*> infos_;
  std::vector<const gantry_node*> raws_;
  gantry_graph graph_ = {};
};

}  // namespace gantry::sdk

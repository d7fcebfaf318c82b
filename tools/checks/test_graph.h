// SPDX-License-Identifier: Apache-2.0
// Graphs for claim and compile, built by hand. The structs are valid; the graph need not be valid
// ONNX. Built by one thread; after view() any thread may read.
#pragma once

#include <gantry/provider.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host.h"

namespace gantry::checks {

/// Attributes of a node by name.
struct TestAttributes {
  std::map<std::string, int64_t> ints = {};
  std::map<std::string, std::vector<int64_t>> int_lists = {};
  std::map<std::string, float> floats = {};
  std::map<std::string, std::string> strings = {};
  std::map<std::string, std::shared_ptr<HostValue>> tensors = {};
};

class TestGraph {
 public:
  /// Adds a graph input. `rank` is -1 (unknown) or the size of `shape`, in which -1 is an unknown
  /// extent.
  uint32_t add_input(uint32_t dtype, const std::vector<int64_t>& shape, int32_t rank);
  uint32_t add_input(uint32_t dtype, const std::vector<int64_t>& shape) {
    return add_input(dtype, shape, static_cast<int32_t>(shape.size()));
  }
  uint32_t add_constant(std::shared_ptr<HostValue> value);
  /// Adds a node with `output_count` outputs of type `dtype` and unknown shape, which become the
  /// last values of the graph. An input may be GANTRY_NONE. Returns the node's index.
  uint32_t add_node(const std::string& op_type, const std::string& domain, int32_t since_version,
                    const std::vector<uint32_t>& inputs, uint32_t output_count, uint32_t dtype,
                    const TestAttributes& attributes = {});
  /// The output values of a node.
  [[nodiscard]] const std::vector<uint32_t>& outputs_of(uint32_t node) const {
    return nodes_[node].outputs;
  }
  void set_name(uint32_t node, const std::string& name) { nodes_[node].name = name; }
  [[nodiscard]] uint32_t node_count() const { return static_cast<uint32_t>(nodes_.size()); }

  /// The view; valid until the graph is changed or destroyed.
  const gantry_graph* view();
  /// The whole view as text, to detect that a call changed it.
  [[nodiscard]] std::string content() const;

 private:
  struct Value {
    uint32_t dtype = GANTRY_UNDEFINED;
    int32_t rank = -1;
    std::vector<int64_t> shape;
    std::string name;
    std::shared_ptr<HostValue> constant;
    uint32_t producer = GANTRY_NONE;
  };
  struct Node {
    std::string name;
    std::string op_type;
    std::string domain;
    int32_t since_version = 1;
    std::vector<uint32_t> inputs;
    std::vector<uint32_t> outputs;
    TestAttributes attributes;
  };
  void view_attributes(const Node& node, gantry_node& view);
  gantry_attribute& add_attribute(const std::string& name, uint32_t type, uint64_t count);

  std::deque<Value> values_;
  std::deque<Node> nodes_;
  std::vector<uint32_t> inputs_;
  // The view, in containers with stable addresses.
  gantry_graph graph_ = {};
  std::deque<gantry_value_info> value_views_;
  std::vector<const gantry_value_info*> value_pointers_;
  std::deque<gantry_node> node_views_;
  std::vector<const gantry_node*> node_pointers_;
  std::deque<gantry_attribute> attribute_views_;
  std::deque<std::vector<const gantry_attribute*>> attribute_lists_;
  std::deque<gantry_str> strings_;
  std::deque<const gantry_value*> tensors_;
  std::vector<uint32_t> outputs_;
};

}  // namespace gantry::checks

// SPDX-License-Identifier: Apache-2.0
// Graphs for claim and compile, built by hand: the structs are valid, their content need not make
// sense. One thread until `view` is called, then any.
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
  /// A graph input; `rank` -1: not known, else as many extents (-1: not known) as in `shape`.
  uint32_t add_input(uint32_t dtype, const std::vector<int64_t>& shape, int32_t rank);
  uint32_t add_input(uint32_t dtype, const std::vector<int64_t>& shape) {
    return add_input(dtype, shape, static_cast<int32_t>(shape.size()));
  }
  uint32_t add_constant(std::shared_ptr<HostValue> value);
  /// A node with `output_count` outputs of that type and unknown shape; their values are the last
  /// ones of the graph. An input may be GANTRY_NONE.
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
  /// Everything in the view as text, to see whether a call has changed it.
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
  // The view, in containers that keep addresses.
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

// SPDX-License-Identifier: Apache-2.0
// A graph of gantry's as a plugin execution provider sees it (OrtGraph and what is in it). Made for
// one call of the provider's; constants are borrowed from the host. One thread makes it, any thread
// reads it.
#pragma once

#include <gantry/sdk/graph.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "objects/execution_provider.h"
#include "objects/value.h"

namespace gantry::ort {

struct SeenNode;
struct SeenGraph;

/// OrtValueInfo.
struct SeenValue {
  struct Use {
    const SeenNode* node;
    int64_t input;  ///< -1: read by a body of the node
  };

  uint32_t index = 0;  ///< into gantry_graph.values
  std::string name;
  TypeInfo type;
  const SeenNode* maker = nullptr;
  size_t output = 0;  ///< of `maker`
  std::vector<Use> uses;
  std::unique_ptr<Value> constant;  ///< null: it is not constant
  bool is_input = false;
  bool is_output = false;
  bool is_outer = false;  ///< in a body: a value of a graph around it
};

/// OrtOpAttr.
struct SeenAttribute {
  const gantry_host* host;
  const gantry_attribute* from;
  std::string name;
};

/// OrtNode.
struct SeenNode {
  size_t id = 0;  ///< index into gantry_graph.nodes
  std::string name;
  std::string op_type;
  std::string domain;
  int since_version = 1;
  std::vector<const SeenValue*> inputs;  // null: left out, as in `outputs`
  std::vector<const SeenValue*> captured;
  std::vector<const SeenValue*> outputs;
  std::vector<std::unique_ptr<SeenAttribute>> attributes;
  std::vector<std::string> body_names;
  std::vector<std::unique_ptr<SeenGraph>> bodies;
  const SeenGraph* graph = nullptr;
};

/// OrtGraph. Values have the names that they have in the model.
struct SeenGraph {
  /// Some nodes of a graph, ascending. Its inputs are what they read and do not make, its outputs
  /// what others read of them; or those of the whole graph, if all nodes are taken.
  SeenGraph(const gantry_host* host, const gantry_graph& from, const std::vector<uint32_t>& ids);
  SeenGraph(const SeenGraph&) = delete;
  SeenGraph& operator=(const SeenGraph&) = delete;

  /// The value of that index; null for GANTRY_NONE.
  SeenValue* value(uint32_t index);
  /// The node that stands for the whole graph, with these inputs and outputs.
  [[nodiscard]] std::unique_ptr<SeenNode> fused(const std::string& name, bool with_constants) const;

  const gantry_host* host;
  const gantry_graph& from;
  std::string name;
  const SeenNode* parent = nullptr;
  std::vector<std::unique_ptr<SeenNode>> nodes;
  std::vector<const SeenValue*> inputs;
  std::vector<const SeenValue*> outputs;
  std::vector<const SeenValue*> constants;  ///< initializers
  std::map<std::string, int64_t> opsets;    ///< by domain: the newest version of its operators

 private:
  SeenGraph(const gantry_host* host, const gantry_graph& from, const SeenNode& parent);
  void add_node(uint32_t id);
  void add_body(SeenNode& node, const gantry_node& from_node, const gantry_attribute& attribute);
  void find_borders();

  std::map<uint32_t, std::unique_ptr<SeenValue>> values_;  // by index
};

}  // namespace gantry::ort

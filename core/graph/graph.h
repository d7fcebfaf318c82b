// SPDX-License-Identifier: Apache-2.0
// The intermediate representation: a graph of nodes with ONNX operators. Each node has its own
// schema version, so a graph may have nodes of several opsets. Graphs are closed: a body reads
// outer values only through captures, which its node lists as trailing inputs. One thread at a
// time; read-only use may be shared.
#pragma once

#include <gantry/tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/value.h"

namespace gantry {

class Graph;
struct Node;

/// What is known of a value before the run.
struct TypeInfo {
  Kind kind = Kind::kUnknown;
  DType dtype = DType::kUndefined;  ///< of the tensor, of a sequence's or optional's elements, of a
                                    ///< map's values
  bool has_rank = false;
  std::vector<int64_t> shape;        ///< -1: unknown extent
  std::vector<std::string> symbols;  ///< as long as `shape`; "": no name
  /// of an output that no node reads: the shape is the model's declaration, which may be wrong
  bool is_declared_only = false;
};

/// A value: the output of a node, an input or capture of its graph, or a constant. Read any number
/// of times. Owned by its graph.
struct GraphValue {
  uint32_t id = 0;   ///< index among the graph's values; dense after Graph::renumber
  std::string name;  ///< unique in its graph
  TypeInfo type;
  Node* producer = nullptr;
  std::vector<Node*> users;   ///< one entry for each use as input or capture
  ValueRef constant;          ///< set: always this value, no producer
  ValueRef initial;           ///< of an input of the main graph: its default value (initializer)
  uint32_t times_listed = 0;  ///< number of uses as an output of its graph; counted by Graph

  /// Of its graph.
  [[nodiscard]] bool is_output() const { return times_listed > 0; }
  [[nodiscard]] bool is_read() const { return !users.empty() || is_output(); }
};

/// An attribute's value. Graphs are owned by the attribute.
using AttributeValue =
    std::variant<int64_t, float, std::string, ValueRef, std::unique_ptr<Graph>,
                 std::vector<int64_t>, std::vector<float>, std::vector<std::string>,
                 std::vector<ValueRef>, std::vector<std::unique_ptr<Graph>>>;

struct Attribute {
  std::string name;
  AttributeValue value;
};

/// An operator applied to values. Owned by its graph.
struct Node {
  uint32_t id = 0;   ///< position in the graph's order; dense after Graph::renumber
  std::string name;  ///< unique in its graph, never empty
  std::string op_type;
  std::string domain;  ///< "" is ai.onnx
  std::string overload;
  int since_version = 0;  ///< of the schema; without a schema the opset imported for the domain
  Graph* graph = nullptr;
  std::vector<GraphValue*> inputs;    ///< null: absent
  std::vector<GraphValue*> captures;  ///< outer values that the bodies read
  std::vector<GraphValue*> outputs;   ///< null: absent
  std::vector<Attribute> attributes;  ///< in the model's order

  [[nodiscard]] const Attribute* find(std::string_view attribute) const;
  /// The attribute's value as T, or `fallback` if it is absent. INVALID_MODEL: it has another type.
  template <class T>
  [[nodiscard]] T get(std::string_view attribute, T fallback) const;
  /// Bodies in attribute order, those of graph lists flattened.
  [[nodiscard]] std::vector<Graph*> bodies() const;
  /// `Conv "c3"`.
  [[nodiscard]] std::string label() const;
};

/// A graph: nodes in topological order, values, inputs, outputs, captures.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::string name;
  std::vector<GraphValue*> inputs;
  std::vector<GraphValue*>
      captures;  ///< parallel to the node's captures; null: not read in this body

  [[nodiscard]] const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<std::unique_ptr<GraphValue>>& values() const { return values_; }
  /// The outputs in order; a value may be listed twice, or be an input or a constant.
  [[nodiscard]] const std::vector<GraphValue*>& outputs() const { return outputs_; }
  void set_outputs(std::vector<GraphValue*> values);

  /// Adds a value with that name, made unique by a suffix if needed.
  GraphValue* add_value(std::string value_name, TypeInfo type = {});
  GraphValue* add_constant(std::string value_name, ValueRef constant);
  /// Appends a node without inputs or outputs; its name is made unique. Connect it with the
  /// functions below.
  Node* add_node(std::string op_type, std::string domain, int since_version, std::string node_name);
  void add_input(Node* node, GraphValue* value);
  void add_capture(Node* node, GraphValue* value);
  /// Replaces input `index`, which must be present, by `value`.
  void set_input(Node* node, size_t index, GraphValue* value);
  void add_output(Node* node, GraphValue* value);

  /// Removes capture `index` from the node and from each of its bodies. Requires that no body reads
  /// it.
  void drop_capture(Node* node, size_t index);

  /// Replaces every use of `from` (inputs, captures, graph outputs) by `to`. The name of a graph
  /// output may change, so names for users must be read before passes run.
  void replace_uses(GraphValue* from, GraphValue* to);
  /// Disconnects and marks the node for removal; it is destroyed by the next sweep(). Its outputs
  /// lose their producer.
  void remove_node(Node* node);
  /// Destroys removed nodes, and values without producer, users and output uses; renumbers. Linear
  /// time.
  void sweep();
  /// Restores the topological order of nodes after an insertion, and keeps their order otherwise;
  /// renumbers. Linear time. INTERNAL: a cycle.
  void sort();
  /// Gives nodes and values dense ids.
  void renumber();

 private:
  std::string unique_name(std::string wanted, const char* what);

  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<GraphValue>> values_;
  std::vector<GraphValue*> outputs_;
  std::unordered_map<std::string, uint32_t>
      names_;  // of values "v:..." and nodes "n:...", with the next suffix
};

/// Checks every rule above, bodies included. INTERNAL (INVALID_MODEL if `from_model`): the first
/// violation.
void verify(const Graph& graph, bool from_model = false);

/// The graph as text, a line per node: `%y = Relu-14(%x) : float32[1,64,?,?]`. Constants of at most
/// `max_elements` elements are printed in full.
std::string to_text(const Graph& graph, int64_t max_elements = 8);

template <class T>
T Node::get(std::string_view attribute, T fallback) const {
  const Attribute* found = find(attribute);
  if (!found) return fallback;
  if (const T* value = std::get_if<T>(&found->value)) return *value;
  throw Error(Code::kInvalidModel, label() + ": attribute \"" + std::string(attribute) +
                                       "\" has another type than expected");
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/graph_message.h"

#include <string>

#include "plugin/error.h"

namespace gantry {
namespace {

using PlaceConstant = std::function<DataPlace(const gantry_value&)>;

[[noreturn]] void fail_graph(const std::string& what) {
  throw Error(Code::kInternal, "a graph for a worker process " + what);
}

void write_constant(MessageWriter& to, const gantry_value& value, const PlaceConstant& place) {
  // Elements of a tensor go to the place of its value; those of items of a sequence are in the
  // message.
  const bool is_plain = value.kind == GANTRY_KIND_TENSOR && value.dtype != DType::kString;
  write_value(to, value,
              [&](const gantry_tensor&) { return is_plain ? place(value) : DataPlace{}; });
}

void write_value_info(MessageWriter& to, const gantry_value_info& value,
                      const PlaceConstant& place) {
  to.text(to_view(value.name));
  to.put(value.kind);
  to.put(value.dtype);
  to.put(value.rank);
  const size_t rank = value.rank > 0 ? static_cast<size_t>(value.rank) : 0;
  to.list(value.shape, rank);
  to.put<uint64_t>(value.symbols ? rank : 0);
  for (size_t i = 0; value.symbols && i < rank; ++i) to.text(to_view(value.symbols[i]));
  to.put<uint8_t>(value.constant ? 1 : 0);
  if (value.constant) write_constant(to, *value.constant, place);
}

void write_attribute(MessageWriter& to, const gantry_attribute& attribute,
                     const PlaceConstant& place) {
  to.text(to_view(attribute.name));
  to.put(attribute.type);
  to.put(attribute.count);
  for (uint64_t i = 0; i < attribute.count; ++i) {
    switch (attribute.type) {
      case GANTRY_ATTRIBUTE_INT:
      case GANTRY_ATTRIBUTE_INTS:
        to.put(attribute.ints[i]);
        break;
      case GANTRY_ATTRIBUTE_FLOAT:
      case GANTRY_ATTRIBUTE_FLOATS:
        to.put(attribute.floats[i]);
        break;
      case GANTRY_ATTRIBUTE_STRING:
      case GANTRY_ATTRIBUTE_STRINGS:
        to.text(to_view(attribute.strings[i]));
        break;
      case GANTRY_ATTRIBUTE_TENSOR:
      case GANTRY_ATTRIBUTE_TENSORS:
        write_constant(to, *attribute.tensors[i], place);
        break;
      default:
        write_graph(to, *attribute.graphs[i], place);
    }
  }
}

void write_node(MessageWriter& to, const gantry_node& node, const PlaceConstant& place) {
  to.put(node.since_version);
  to.text(to_view(node.name));
  to.text(to_view(node.op_type));
  to.text(to_view(node.domain));
  to.text(to_view(node.overload));
  to.list(node.inputs, node.input_count);
  to.list(node.captures, node.capture_count);
  to.list(node.outputs, node.output_count);
  to.put<uint64_t>(node.attribute_count);
  for (uint32_t i = 0; i < node.attribute_count; ++i)
    write_attribute(to, *node.attributes[i], place);
}

class GraphReader {
 public:
  GraphReader(MessageReader& from, const FindData& find) : from_(from), find_(find) {}

  std::unique_ptr<Graph> read() {
    auto graph = std::make_unique<Graph>();
    graph->name = from_.text();
    const uint64_t values = from_.count(1);
    for (uint64_t i = 0; i < values; ++i) read_value_info(*graph);
    const uint64_t nodes = from_.count(1);
    for (uint64_t i = 0; i < nodes; ++i) read_node(*graph);
    graph->inputs = read_values(*graph);
    graph->set_outputs(read_values(*graph));
    graph->captures = read_values(*graph);
    return graph;
  }

 private:
  void read_value_info(Graph& graph) {
    std::string name = from_.text();
    TypeInfo type;
    type.kind = static_cast<Kind>(from_.get<uint32_t>());
    type.dtype = static_cast<DType>(from_.get<uint32_t>());
    const auto rank = from_.get<int32_t>();
    type.has_rank = rank >= 0;
    type.shape = from_.list<int64_t>();
    const uint64_t symbols = from_.count(sizeof(uint64_t));
    for (uint64_t i = 0; i < symbols; ++i) type.symbols.push_back(from_.text());
    type.symbols.resize(type.shape.size());
    GraphValue* value = graph.add_value(std::move(name), std::move(type));
    if (from_.get<uint8_t>() != 0) value->constant = read_value(from_, find_);
  }

  GraphValue* value_of(const Graph& graph, uint32_t id) const {
    if (id == GANTRY_NONE) return nullptr;
    if (id >= graph.values().size()) fail_graph("names value " + std::to_string(id));
    return graph.values()[id].get();
  }

  std::vector<GraphValue*> read_values(const Graph& graph) {
    std::vector<GraphValue*> values;
    for (const uint32_t id : from_.list<uint32_t>()) values.push_back(value_of(graph, id));
    return values;
  }

  void read_node(Graph& graph) {
    const auto version = from_.get<int32_t>();
    std::string name = from_.text();
    std::string op_type = from_.text();
    std::string domain = from_.text();
    Node* node = graph.add_node(std::move(op_type), std::move(domain), version, std::move(name));
    node->overload = from_.text();
    for (GraphValue* value : read_values(graph)) graph.add_input(node, value);
    for (GraphValue* value : read_values(graph)) {
      if (!value) fail_graph("has an empty capture");
      graph.add_capture(node, value);
    }
    for (GraphValue* value : read_values(graph)) graph.add_output(node, value);
    const uint64_t attributes = from_.count(1);
    for (uint64_t i = 0; i < attributes; ++i) read_attribute(*node);
  }

  void read_attribute(Node& node) {
    Attribute attribute;
    attribute.name = from_.text();
    const auto type = from_.get<uint32_t>();
    const uint64_t count = from_.count(1);
    const bool is_single = type < GANTRY_ATTRIBUTE_FLOATS;
    if (is_single && count != 1)
      fail_graph("has an attribute of " + std::to_string(count) + " items");
    switch (type) {
      case GANTRY_ATTRIBUTE_INT:
      case GANTRY_ATTRIBUTE_INTS:
        set(attribute, is_single, count, [&] { return from_.get<int64_t>(); });
        break;
      case GANTRY_ATTRIBUTE_FLOAT:
      case GANTRY_ATTRIBUTE_FLOATS:
        set(attribute, is_single, count, [&] { return from_.get<float>(); });
        break;
      case GANTRY_ATTRIBUTE_STRING:
      case GANTRY_ATTRIBUTE_STRINGS:
        set(attribute, is_single, count, [&] { return from_.text(); });
        break;
      case GANTRY_ATTRIBUTE_TENSOR:
      case GANTRY_ATTRIBUTE_TENSORS:
        set(attribute, is_single, count, [&] { return read_value(from_, find_); });
        break;
      case GANTRY_ATTRIBUTE_GRAPH:
      case GANTRY_ATTRIBUTE_GRAPHS:
        set(attribute, is_single, count, [&] { return read(); });
        break;
      default:
        fail_graph("has an attribute of type " + std::to_string(type));
    }
    node.attributes.push_back(std::move(attribute));
  }

  template <class Read>
  static void set(Attribute& attribute, bool is_single, uint64_t count, Read&& read) {
    if (is_single) {
      attribute.value = read();
      return;
    }
    std::vector<decltype(read())> items;
    for (uint64_t i = 0; i < count; ++i) items.push_back(read());
    attribute.value = std::move(items);
  }

  MessageReader& from_;
  const FindData& find_;
};

}  // namespace

void write_graph(MessageWriter& to, const gantry_graph& graph, const PlaceConstant& place) {
  to.text(to_view(graph.name));
  to.put<uint64_t>(graph.value_count);
  for (uint32_t i = 0; i < graph.value_count; ++i) write_value_info(to, *graph.values[i], place);
  to.put<uint64_t>(graph.node_count);
  for (uint32_t i = 0; i < graph.node_count; ++i) write_node(to, *graph.nodes[i], place);
  to.list(graph.inputs, graph.input_count);
  to.list(graph.outputs, graph.output_count);
  to.list(graph.captures, graph.capture_count);
}

std::unique_ptr<Graph> read_graph(MessageReader& from, const FindData& find) {
  return GraphReader(from, find).read();
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
#include "plugin/graph_view.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <variant>

#include "plugin/error.h"

namespace gantry {
namespace {

// Counts of a graph's parts. Arrays are reserved before they are filled, so that pointers into them
// stay valid.
struct Counts {
  size_t ids = 0;
  size_t attributes = 0;
  size_t strings = 0;
  size_t tensors = 0;
  size_t bodies = 0;
  size_t symbols = 0;
};

bool has_symbols(const TypeInfo& type) {
  return std::any_of(type.symbols.begin(), type.symbols.end(),
                     [](const std::string& name) { return !name.empty(); });
}

void count(const AttributeValue& value, Counts& counts) {
  if (std::holds_alternative<std::string>(value)) ++counts.strings;
  if (std::holds_alternative<ValueRef>(value)) ++counts.tensors;
  if (std::holds_alternative<std::unique_ptr<Graph>>(value)) ++counts.bodies;
  if (const auto* list = std::get_if<std::vector<std::string>>(&value))
    counts.strings += list->size();
  if (const auto* list = std::get_if<std::vector<ValueRef>>(&value)) counts.tensors += list->size();
  if (const auto* list = std::get_if<std::vector<std::unique_ptr<Graph>>>(&value))
    counts.bodies += list->size();
}

Counts count(const Graph& graph) {
  Counts counts;
  counts.ids = graph.inputs.size() + graph.outputs().size() + graph.captures.size();
  for (const auto& node : graph.nodes()) {
    counts.ids += node->inputs.size() + node->captures.size() + node->outputs.size();
    counts.attributes += node->attributes.size();
    for (const Attribute& attribute : node->attributes) count(attribute.value, counts);
  }
  for (const auto& value : graph.values()) {
    if (has_symbols(value->type)) counts.symbols += value->type.symbols.size();
  }
  return counts;
}

}  // namespace

class GraphView::Impl {
 public:
  explicit Impl(const Graph& graph) {
    const Counts counts = count(graph);
    ids_.reserve(counts.ids);
    attributes_.reserve(counts.attributes);
    attribute_pointers_.reserve(counts.attributes);
    strings_.reserve(counts.strings + counts.symbols);
    tensors_.reserve(counts.tensors);
    bodies_.reserve(counts.bodies);
    body_pointers_.reserve(counts.bodies);
    add_values(graph);
    add_nodes(graph);
    fill_graph(graph);
  }

  [[nodiscard]] const gantry_graph* get() const { return &graph_; }

 private:
  void add_values(const Graph& graph) {
    values_.reserve(graph.values().size());
    value_pointers_.reserve(graph.values().size());
    for (const auto& value : graph.values()) {
      values_.push_back(view_of(*value));
      value_pointers_.push_back(&values_.back());
    }
    for (const GraphValue* output : graph.outputs()) {
      if (output) values_[output->id].is_graph_output = 1;
    }
  }

  gantry_value_info view_of(const GraphValue& value) {
    const TypeInfo& type = value.type;
    gantry_value_info info = {};
    info.size = sizeof(info);
    info.kind = static_cast<uint32_t>(type.kind);
    info.dtype = static_cast<uint32_t>(type.dtype);
    info.rank = type.has_rank ? static_cast<int32_t>(type.shape.size()) : -1;
    info.shape = info.rank > 0 ? type.shape.data() : nullptr;
    if (info.rank > 0 && has_symbols(type) && type.symbols.size() == type.shape.size()) {
      info.symbols = strings_.data() + strings_.size();
      for (const std::string& symbol : type.symbols) strings_.push_back(to_str(symbol));
    }
    info.constant = value.constant.get();
    info.name = to_str(value.name);
    info.producer = value.producer ? value.producer->id : GANTRY_NONE;
    info.read_count = static_cast<uint32_t>(value.users.size());
    return info;
  }

  void add_nodes(const Graph& graph) {
    nodes_.reserve(graph.nodes().size());
    node_pointers_.reserve(graph.nodes().size());
    for (const auto& node : graph.nodes()) {
      nodes_.push_back(view_of(*node));
      node_pointers_.push_back(&nodes_.back());
    }
  }

  gantry_node view_of(const Node& node) {
    gantry_node view = {};
    view.size = sizeof(view);
    view.since_version = node.since_version;
    view.name = to_str(node.name);
    view.op_type = to_str(node.op_type);
    view.domain = to_str(node.domain);
    view.overload = to_str(node.overload);
    view.inputs = add_ids(node.inputs);
    view.input_count = static_cast<uint32_t>(node.inputs.size());
    view.outputs = add_ids(node.outputs);
    view.output_count = static_cast<uint32_t>(node.outputs.size());
    view.captures = add_ids(node.captures);
    view.capture_count = static_cast<uint32_t>(node.captures.size());
    view.attributes = attribute_pointers_.data() + attribute_pointers_.size();
    view.attribute_count = static_cast<uint32_t>(node.attributes.size());
    for (const Attribute& attribute : node.attributes) {
      attributes_.push_back(view_of(attribute));
      attribute_pointers_.push_back(&attributes_.back());
    }
    return view;
  }

  const uint32_t* add_ids(const std::vector<GraphValue*>& values) {
    const uint32_t* first = ids_.data() + ids_.size();
    for (const GraphValue* value : values) ids_.push_back(value ? value->id : GANTRY_NONE);
    return first;
  }

  gantry_attribute view_of(const Attribute& attribute) {
    gantry_attribute view = {};
    view.size = sizeof(view);
    view.name = to_str(attribute.name);
    std::visit([&](const auto& value) { fill(view, value); }, attribute.value);
    return view;
  }

  static void fill(gantry_attribute& view, const int64_t& value) {
    set(view, GANTRY_ATTRIBUTE_INT, 1).ints = &value;
  }
  static void fill(gantry_attribute& view, const float& value) {
    set(view, GANTRY_ATTRIBUTE_FLOAT, 1).floats = &value;
  }
  static void fill(gantry_attribute& view, const std::vector<int64_t>& values) {
    set(view, GANTRY_ATTRIBUTE_INTS, values.size()).ints = values.data();
  }
  static void fill(gantry_attribute& view, const std::vector<float>& values) {
    set(view, GANTRY_ATTRIBUTE_FLOATS, values.size()).floats = values.data();
  }
  void fill(gantry_attribute& view, const std::string& value) {
    set(view, GANTRY_ATTRIBUTE_STRING, 1).strings = strings_.data() + strings_.size();
    strings_.push_back(to_str(value));
  }
  void fill(gantry_attribute& view, const std::vector<std::string>& values) {
    set(view, GANTRY_ATTRIBUTE_STRINGS, values.size()).strings = strings_.data() + strings_.size();
    for (const std::string& value : values) strings_.push_back(to_str(value));
  }
  void fill(gantry_attribute& view, const ValueRef& value) {
    set(view, GANTRY_ATTRIBUTE_TENSOR, 1).tensors = tensors_.data() + tensors_.size();
    tensors_.push_back(value.get());
  }
  void fill(gantry_attribute& view, const std::vector<ValueRef>& values) {
    set(view, GANTRY_ATTRIBUTE_TENSORS, values.size()).tensors = tensors_.data() + tensors_.size();
    for (const ValueRef& value : values) tensors_.push_back(value.get());
  }
  void fill(gantry_attribute& view, const std::unique_ptr<Graph>& value) {
    set(view, GANTRY_ATTRIBUTE_GRAPH, 1).graphs = body_pointers_.data() + body_pointers_.size();
    add_body(*value);
  }
  void fill(gantry_attribute& view, const std::vector<std::unique_ptr<Graph>>& values) {
    set(view, GANTRY_ATTRIBUTE_GRAPHS, values.size()).graphs =
        body_pointers_.data() + body_pointers_.size();
    for (const auto& value : values) add_body(*value);
  }

  static gantry_attribute& set(gantry_attribute& view, gantry_attribute_type type, size_t items) {
    view.type = type;
    view.count = items;
    return view;
  }

  void add_body(const Graph& body) {
    bodies_.push_back(std::make_unique<Impl>(body));
    body_pointers_.push_back(bodies_.back()->get());
  }

  void fill_graph(const Graph& graph) {
    graph_.size = sizeof(graph_);
    graph_.nodes = node_pointers_.data();
    graph_.node_count = static_cast<uint32_t>(node_pointers_.size());
    graph_.values = value_pointers_.data();
    graph_.value_count = static_cast<uint32_t>(value_pointers_.size());
    graph_.inputs = add_ids(graph.inputs);
    graph_.input_count = static_cast<uint32_t>(graph.inputs.size());
    graph_.outputs = add_ids(graph.outputs());
    graph_.output_count = static_cast<uint32_t>(graph.outputs().size());
    graph_.captures = add_ids(graph.captures);
    graph_.capture_count = static_cast<uint32_t>(graph.captures.size());
    graph_.name = to_str(graph.name);
  }

  gantry_graph graph_ = {};
  std::vector<gantry_value_info> values_;
  std::vector<const gantry_value_info*> value_pointers_;
  std::vector<gantry_node> nodes_;
  std::vector<const gantry_node*> node_pointers_;
  std::vector<uint32_t> ids_;
  std::vector<gantry_attribute> attributes_;
  std::vector<const gantry_attribute*> attribute_pointers_;
  std::vector<gantry_str> strings_;
  std::vector<const gantry_value*> tensors_;
  std::vector<std::unique_ptr<Impl>> bodies_;
  std::vector<const gantry_graph*> body_pointers_;
};

GraphView::GraphView(const Graph& graph) : impl_(std::make_unique<Impl>(graph)) {}
GraphView::~GraphView() = default;
GraphView::GraphView(GraphView&&) noexcept = default;
GraphView& GraphView::operator=(GraphView&&) noexcept = default;

const gantry_graph* GraphView::get() const { return impl_->get(); }

}  // namespace gantry

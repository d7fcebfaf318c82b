// SPDX-License-Identifier: Apache-2.0
#include "ep_host/host_graph.h"

#include <algorithm>
#include <numeric>

#include "objects/host_value.h"

namespace gantry::ort::host {
namespace {

ort::TypeInfo type_of(const gantry_value_info& info) {
  ort::TypeInfo tensor;
  tensor.tensor.dtype = info.dtype;
  tensor.tensor.has_shape = info.rank >= 0;
  if (info.rank > 0) tensor.tensor.shape.assign(info.shape, info.shape + info.rank);
  for (int axis = 0; info.symbols && axis < info.rank; ++axis)
    tensor.tensor.symbols.emplace_back(sdk::to_view(info.symbols[axis]));
  switch (info.kind) {
    case GANTRY_KIND_SEQUENCE:
      return {ValueKind::kSequence, {}, 0, std::make_shared<ort::TypeInfo>(tensor)};
    case GANTRY_KIND_OPTIONAL:
      return {ValueKind::kOptional, {}, 0, std::make_shared<ort::TypeInfo>(tensor)};
    case GANTRY_KIND_MAP:
      return {ValueKind::kMap, {}, 0, std::make_shared<ort::TypeInfo>(tensor)};
    default:
      return tensor;
  }
}

std::vector<uint32_t> all_of(const gantry_graph& graph) {
  std::vector<uint32_t> ids(graph.node_count);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

}  // namespace

Graph::Graph(const gantry_host* of_host, const gantry_graph& graph,
             const std::vector<uint32_t>& ids)
    : host(of_host), from(graph), name(sdk::to_view(graph.name)) {
  for (const uint32_t id : ids) add_node(id);
  find_borders();
}

// A body: what it captures is already in values_ when its nodes are added.
Graph::Graph(const gantry_host* of_host, const gantry_graph& graph, const Node& of)
    : host(of_host), from(graph), name(sdk::to_view(graph.name)), parent(&of) {}

NamedValue* Graph::value(uint32_t index) {
  if (index == GANTRY_NONE) return nullptr;
  std::unique_ptr<NamedValue>& found = values_[index];
  if (found) return found.get();
  const gantry_value_info& info = *from.values[index];
  found = std::make_unique<NamedValue>();
  found->index = index;
  found->name = sdk::to_view(info.name);
  found->type = type_of(info);
  found->is_output = info.is_graph_output != 0;
  if (info.constant && host->value_tensor(info.constant)) {
    found->constant = std::make_unique<ort::Value>(value_of(host, *info.constant));
    constants.push_back(found.get());
  }
  return found.get();
}

void Graph::add_node(uint32_t id) {
  const gantry_node& node = *from.nodes[id];
  Node& made = *nodes.emplace_back(std::make_unique<Node>());
  made.id = id;
  made.name = sdk::to_view(node.name);
  made.op_type = sdk::to_view(node.op_type);
  made.domain = sdk::to_view(node.domain);
  made.since_version = node.since_version;
  made.graph = this;
  int64_t& version = opsets[made.domain];
  version = std::max<int64_t>(version, node.since_version);
  const auto read = [&](uint32_t index, int64_t input) {
    NamedValue* found = value(index);
    if (found) found->uses.push_back({&made, input});
    return found;
  };
  for (uint32_t i = 0; i < node.input_count; ++i) made.inputs.push_back(read(node.inputs[i], i));
  for (uint32_t i = 0; i < node.capture_count; ++i) {
    if (NamedValue* found = read(node.captures[i], -1)) made.captured.push_back(found);
  }
  for (uint32_t i = 0; i < node.output_count; ++i) {
    NamedValue* found = value(node.outputs[i]);
    if (found) found->maker = &made;
    if (found) found->output = i;
    made.outputs.push_back(found);
  }
  for (uint32_t i = 0; i < node.attribute_count; ++i) {
    const gantry_attribute& attribute = *node.attributes[i];
    made.attributes.push_back(std::make_unique<Attribute>(
        Attribute{host, &attribute, std::string(sdk::to_view(attribute.name))}));
    if (attribute.type == GANTRY_ATTRIBUTE_GRAPH) add_body(made, node, attribute);
  }
}

void Graph::add_body(Node& node, const gantry_node& from_node, const gantry_attribute& attribute) {
  const gantry_graph& body = *attribute.graphs[0];
  std::unique_ptr<Graph> made(new Graph(host, body, node));
  for (uint32_t i = 0; i < body.capture_count; ++i) {
    NamedValue* inner = made->value(body.captures[i]);
    const NamedValue* outer = value(from_node.captures[i]);
    if (!inner || !outer) continue;
    inner->name = outer->name;
    inner->is_outer = true;
  }
  for (const uint32_t id : all_of(body)) made->add_node(id);
  made->find_borders();
  for (const auto& [domain, version] : made->opsets)
    opsets[domain] = std::max(opsets[domain], version);
  node.body_names.emplace_back(sdk::to_view(attribute.name));
  node.bodies.push_back(std::move(made));
}

void Graph::find_borders() {
  const auto add_input = [&](NamedValue* input) {
    if (!input || input->is_input || input->constant || input->is_outer) return;
    input->is_input = true;
    inputs.push_back(input);
  };
  if (nodes.size() == from.node_count) {
    for (uint32_t i = 0; i < from.input_count; ++i) add_input(value(from.inputs[i]));
    for (uint32_t i = 0; i < from.output_count; ++i) outputs.push_back(value(from.outputs[i]));
    return;
  }
  for (const auto& node : nodes) {
    const gantry_node& raw = *from.nodes[node->id];
    for (uint32_t i = 0; i < raw.input_count + raw.capture_count; ++i) {
      NamedValue* read =
          value(i < raw.input_count ? raw.inputs[i] : raw.captures[i - raw.input_count]);
      if (read && !read->maker) add_input(read);
    }
    for (uint32_t i = 0; i < raw.output_count; ++i) {
      NamedValue* made = value(raw.outputs[i]);
      if (!made) continue;
      const uint32_t reads = from.values[raw.outputs[i]]->read_count;
      made->is_output = made->is_output || reads == 0 || reads > made->uses.size();
      if (made->is_output) outputs.push_back(made);
    }
  }
}

std::unique_ptr<Node> Graph::fused(const std::string& of_name, bool with_constants) const {
  auto made = std::make_unique<Node>();
  made->id = from.node_count;
  made->name = of_name;
  made->op_type = of_name;
  made->domain = "gantry";
  made->graph = this;
  made->inputs = inputs;
  if (with_constants) made->inputs.insert(made->inputs.end(), constants.begin(), constants.end());
  made->outputs = outputs;
  return made;
}

}  // namespace gantry::ort::host

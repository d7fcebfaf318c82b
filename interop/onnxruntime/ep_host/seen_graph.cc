// SPDX-License-Identifier: Apache-2.0
#include "ep_host/seen_graph.h"

#include <algorithm>
#include <numeric>

#include "objects/host_value.h"

namespace gantry::ort {
namespace {

TypeInfo type_of(const gantry_value_info& info) {
  TypeInfo tensor;
  tensor.tensor.dtype = info.dtype;
  tensor.tensor.has_shape = info.rank >= 0;
  if (info.rank > 0) tensor.tensor.shape.assign(info.shape, info.shape + info.rank);
  for (int axis = 0; info.symbols && axis < info.rank; ++axis)
    tensor.tensor.symbols.emplace_back(sdk::to_view(info.symbols[axis]));
  switch (info.kind) {
    case GANTRY_KIND_SEQUENCE:
      return {ValueKind::kSequence, {}, 0, std::make_shared<TypeInfo>(tensor)};
    case GANTRY_KIND_OPTIONAL:
      return {ValueKind::kOptional, {}, 0, std::make_shared<TypeInfo>(tensor)};
    case GANTRY_KIND_MAP:
      return {ValueKind::kMap, {}, 0, std::make_shared<TypeInfo>(tensor)};
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

SeenGraph::SeenGraph(const gantry_host* of_host, const gantry_graph& graph,
                     const std::vector<uint32_t>& ids)
    : host(of_host), from(graph), name(sdk::to_view(graph.name)) {
  for (const uint32_t id : ids) add_node(id);
  find_borders();
}

// A body: what it captures is already in values_ when its nodes are added.
SeenGraph::SeenGraph(const gantry_host* of_host, const gantry_graph& graph, const SeenNode& of)
    : host(of_host), from(graph), name(sdk::to_view(graph.name)), parent(&of) {}

SeenValue* SeenGraph::value(uint32_t index) {
  if (index == GANTRY_NONE) return nullptr;
  std::unique_ptr<SeenValue>& found = values_[index];
  if (found) return found.get();
  const gantry_value_info& info = *from.values[index];
  found = std::make_unique<SeenValue>();
  found->index = index;
  found->name = sdk::to_view(info.name);
  found->type = type_of(info);
  found->is_output = info.is_graph_output != 0;
  if (info.constant && host->value_tensor(info.constant)) {
    found->constant = std::make_unique<Value>(value_of(host, *info.constant));
    constants.push_back(found.get());
  }
  return found.get();
}

void SeenGraph::add_node(uint32_t id) {
  const gantry_node& node = *from.nodes[id];
  SeenNode& made = *nodes.emplace_back(std::make_unique<SeenNode>());
  made.id = id;
  made.name = sdk::to_view(node.name);
  made.op_type = sdk::to_view(node.op_type);
  made.domain = sdk::to_view(node.domain);
  made.since_version = node.since_version;
  made.graph = this;
  int64_t& version = opsets[made.domain];
  version = std::max<int64_t>(version, node.since_version);
  const auto read = [&](uint32_t index, int64_t input) {
    SeenValue* found = value(index);
    if (found) found->uses.push_back({&made, input});
    return found;
  };
  for (uint32_t i = 0; i < node.input_count; ++i) made.inputs.push_back(read(node.inputs[i], i));
  for (uint32_t i = 0; i < node.capture_count; ++i) {
    if (SeenValue* found = read(node.captures[i], -1)) made.captured.push_back(found);
  }
  for (uint32_t i = 0; i < node.output_count; ++i) {
    SeenValue* found = value(node.outputs[i]);
    if (found) found->maker = &made;
    if (found) found->output = i;
    made.outputs.push_back(found);
  }
  for (uint32_t i = 0; i < node.attribute_count; ++i) {
    const gantry_attribute& attribute = *node.attributes[i];
    made.attributes.push_back(std::make_unique<SeenAttribute>(
        SeenAttribute{host, &attribute, std::string(sdk::to_view(attribute.name))}));
    if (attribute.type == GANTRY_ATTRIBUTE_GRAPH) add_body(made, node, attribute);
  }
}

void SeenGraph::add_body(SeenNode& node, const gantry_node& from_node,
                         const gantry_attribute& attribute) {
  const gantry_graph& body = *attribute.graphs[0];
  std::unique_ptr<SeenGraph> made(new SeenGraph(host, body, node));
  for (uint32_t i = 0; i < body.capture_count; ++i) {
    SeenValue* inner = made->value(body.captures[i]);
    const SeenValue* outer = value(from_node.captures[i]);
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

void SeenGraph::find_borders() {
  const auto add_input = [&](SeenValue* input) {
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
      SeenValue* read =
          value(i < raw.input_count ? raw.inputs[i] : raw.captures[i - raw.input_count]);
      if (read && !read->maker) add_input(read);
    }
    for (uint32_t i = 0; i < raw.output_count; ++i) {
      SeenValue* made = value(raw.outputs[i]);
      if (!made) continue;
      const uint32_t reads = from.values[raw.outputs[i]]->read_count;
      made->is_output = made->is_output || reads == 0 || reads > made->uses.size();
      if (made->is_output) outputs.push_back(made);
    }
  }
}

std::unique_ptr<SeenNode> SeenGraph::fused(const std::string& of_name, bool with_constants) const {
  auto made = std::make_unique<SeenNode>();
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

}  // namespace gantry::ort

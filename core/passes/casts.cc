// SPDX-License-Identifier: Apache-2.0
// Replaces CastLike by Cast if the target type is known, so that no tensor is read for its type
// only, and removes Casts to the type that the value has already.
//
//   %a = CastLike-15(%x, %like)           =>   %a = Cast-13(%x) {to = 10}       %like is float16
//   %b = Cast-13(%a) {to = 10}
//   %y = Relu-14(%b)                           %y = Relu-14(%a)
#include <cstdint>
#include <vector>

#include "passes/pattern.h"
#include "passes/pipeline.h"
#include "passes/replace.h"

namespace gantry {
namespace {

/// The element type of a tensor; undefined: unknown, or no tensor.
DType known_dtype(const GraphValue* value) {
  return value->type.kind == Kind::kTensor ? value->type.dtype : DType::kUndefined;
}

bool has_known_type(const Node& node) {
  return is_operator(node, "CastLike", 2) && known_dtype(node.inputs[1]) != DType::kUndefined;
}

void write_as_cast(Graph& graph, Node* node) {
  // CastLike-15 corresponds to Cast-13; later versions are equal.
  const int version = node->since_version == 15 ? 13 : node->since_version;
  Node* cast = graph.add_node("Cast", "", version, node->name);
  for (const char* name : {"saturate", "round_mode"}) {
    const Attribute* attribute = node->find(name);
    if (!attribute) continue;
    if (const auto* number = std::get_if<int64_t>(&attribute->value))
      cast->attributes.push_back({name, *number});
    if (const auto* text = std::get_if<std::string>(&attribute->value))
      cast->attributes.push_back({name, *text});
  }
  cast->attributes.push_back({"to", static_cast<int64_t>(known_dtype(node->inputs[1]))});
  graph.add_input(cast, node->inputs[0]);
  take_over(graph, node->outputs[0], cast);
}

bool changes_nothing(const Node& node) {
  if (!is_operator(node, "Cast", 1)) return false;
  const DType dtype = known_dtype(node.inputs[0]);
  // Before version 6 the type is written as text.
  const Attribute* to = node.find("to");
  const auto* number = to ? std::get_if<int64_t>(&to->value) : nullptr;
  return dtype != DType::kUndefined && number && *number == static_cast<int64_t>(dtype);
}

}  // namespace

bool simplify_casts(Graph& graph, const PassContext&) {
  std::vector<Node*> alike;
  for (const auto& node : graph.nodes()) {
    if (has_known_type(*node)) alike.push_back(node.get());
  }
  for (Node* node : alike) write_as_cast(graph, node);
  bool has_changed = !alike.empty();
  for (const auto& node : graph.nodes()) {
    if (!changes_nothing(*node) || !try_replace(graph, node->outputs[0], node->inputs[0])) continue;
    graph.remove_node(node.get());
    has_changed = true;
  }
  if (has_changed) {
    graph.sweep();
    graph.sort();
  }
  return has_changed;
}

}  // namespace gantry

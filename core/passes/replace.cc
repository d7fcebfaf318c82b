// SPDX-License-Identifier: Apache-2.0
#include "passes/replace.h"

#include <utility>

namespace gantry {

bool try_replace(Graph& graph, GraphValue* from, GraphValue* to) {
  if (from->is_output()) {
    if (!to->producer || to->is_output()) return false;
    std::swap(from->name, to->name);
  }
  if (to->type.kind == Kind::kUnknown || (from->type.has_rank && !to->type.has_rank))
    to->type = from->type;
  graph.replace_uses(from, to);
  return true;
}

void take_over(Graph& graph, GraphValue* value, Node* node) {
  graph.remove_node(value->producer);
  graph.add_output(node, value);
}

void make_constant(GraphValue* value, ValueRef constant) {
  value->type.kind = static_cast<Kind>(constant->kind);
  value->type.dtype = constant->dtype;
  if (constant->kind == GANTRY_KIND_TENSOR) {
    value->type.has_rank = true;
    value->type.shape = constant->shape;
    value->type.symbols.assign(constant->shape.size(), "");
  }
  value->producer = nullptr;
  value->constant = std::move(constant);
}

}  // namespace gantry

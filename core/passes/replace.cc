// SPDX-License-Identifier: Apache-2.0
#include "passes/replace.h"

#include <algorithm>
#include <utility>

#include "base/elements.h"

namespace gantry {
namespace {

/// The type that `to` takes from `from`: without the shape if the shape is a declaration that may
/// be wrong and other nodes read `to` as well.
TypeInfo type_for(const GraphValue& to, const GraphValue& from) {
  TypeInfo type = from.type;
  if (!type.is_declared_only || to.users.size() <= 1) return type;
  type.has_rank = type.is_declared_only = false;
  type.shape.clear();
  type.symbols.clear();
  return type;
}

}  // namespace

bool try_replace(Graph& graph, GraphValue* from, GraphValue* to) {
  if (from->is_output()) {
    if (!to->producer || to->is_output()) return false;
    std::swap(from->name, to->name);
  }
  if (to->type.kind == Kind::kUnknown || (from->type.has_rank && !to->type.has_rank))
    to->type = type_for(*to, *from);
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

ValueRef reshaped(const ValueRef& constant, const std::vector<int64_t>& shape) {
  if (!constant || constant->kind != GANTRY_KIND_TENSOR || bits_of(constant->dtype) == 0) return {};
  if (std::find(shape.begin(), shape.end(), -1) != shape.end()) return {};
  if (element_count(shape) != element_count(constant->shape)) return {};
  std::shared_ptr<const void> owner = constant->owner;
  if (!owner) owner = constant;  // borrowed memory: the view holds the constant instead
  ValueRef view = view_tensor(constant->dtype, shape, constant->view.data,
                              constant->view.size_bytes, std::move(owner));
  view->is_mapped = constant->is_mapped;
  return view;
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// Fuses exporters' pattern of group normalization to the operator GroupNormalization (ai.onnx opset
// 21): a Reshape puts the groups on the channel axis, InstanceNormalization normalizes them, a
// second Reshape restores the shape; a scale and a shift per channel follow.
//
//   %a = Reshape-14(%x, {0, groups, -1})
//   %b = InstanceNormalization-6(%a, ones, zeros) {epsilon}
//   %c = Reshape-14(%b, shape of %x)
//   %d = Mul-14(%c, %scale)                          {C, 1, ...}
//   %y = Add-14(%d, %shift)                          {C, 1, ...}
//     =>   %y = GroupNormalization-21(%x, %scale, %shift) {epsilon, num_groups = groups}
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "passes/fuse_pattern.h"
#include "passes/pattern.h"
#include "passes/replace.h"

namespace gantry {
namespace {

struct GroupNormMatch {
  GraphValue* x = nullptr;
  GraphValue* scale = nullptr;
  GraphValue* shift = nullptr;
  GraphValue* result = nullptr;
  int64_t groups = 0;
  float epsilon = 0;
};

// True of a constant vector whose elements are all `number`.
bool is_all(const GraphValue* value, float number) {
  if (!value || !value->constant || value->type.dtype != DType::kFloat) return false;
  const gantry_tensor& tensor = value->constant->view;
  std::vector<float> elements(tensor.size_bytes / sizeof(float));
  if (elements.empty()) return false;
  std::memcpy(elements.data(), tensor.data, elements.size() * sizeof(float));
  return std::all_of(elements.begin(), elements.end(), [&](float x) { return x == number; });
}

// True of a float32 constant with one element per channel of a tensor of `rank` axes: [C, 1, ...]
// or [1, C, 1, ...].
bool is_by_channel(const GraphValue* value, int64_t channels, size_t rank) {
  if (!value || !value->constant || value->type.dtype != DType::kFloat) return false;
  const std::vector<int64_t>& shape = value->type.shape;
  if (shape.size() + 1 != rank && shape.size() != rank) return false;
  const size_t axis = shape.size() == rank ? 1 : 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != (i == axis ? channels : 1)) return false;
  }
  return true;
}

// True if a Reshape is known to restore the shape of `x`: it reads Shape(x), or the inferred
// extents are known and equal, or unknown with the same name.
bool restores_shape(const Node& back, const GraphValue* x) {
  const Node* shape = producer_of(back.inputs[1], "Shape", 1);
  if (shape && shape->attributes.empty() && shape->inputs[0] == x) return true;
  const TypeInfo& a = back.outputs[0]->type;
  const TypeInfo& b = x->type;
  if (!a.has_rank || !b.has_rank || a.shape != b.shape) return false;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    if (a.shape[i] >= 0) continue;
    const bool is_named = i < a.symbols.size() && i < b.symbols.size() && !a.symbols[i].empty();
    if (!is_named || a.symbols[i] != b.symbols[i]) return false;
  }
  return true;
}

// The elements of a constant int64 vector; empty: it is no such constant.
std::vector<int64_t> integers_of(const GraphValue* value) {
  if (!value || !value->constant || value->constant->dtype != DType::kInt64) return {};
  const gantry_tensor& tensor = value->constant->view;
  std::vector<int64_t> elements(tensor.size_bytes / sizeof(int64_t));
  if (!elements.empty())
    std::memcpy(elements.data(), tensor.data, elements.size() * sizeof(int64_t));
  return elements;
}

// The number of groups if a Reshape turns x to [N, groups, rest]; 0: it does not.
int64_t groups_of(const GraphValue* grouped, const GraphValue* x) {
  const TypeInfo& type = grouped->type;
  if (!type.has_rank || type.shape.size() != 3 || type.shape[1] < 1) return 0;
  const int64_t channels = x->type.shape[1];
  if (channels < 1 || channels % type.shape[1] != 0) return 0;
  // The batch extent must not change: it is equal, or 0 in the Reshape, which copies it.
  if (x->type.shape[0] >= 0) return type.shape[0] == x->type.shape[0] ? type.shape[1] : 0;
  const std::vector<int64_t> wanted = integers_of(grouped->producer->inputs[1]);
  return !wanted.empty() && wanted[0] == 0 ? type.shape[1] : 0;
}

GroupNormMatch group_norm_of(const Node& node) {
  GroupNormMatch match;
  if (!is_operator(node, "InstanceNormalization", 3)) return {};
  if (!is_all(node.inputs[1], 1) || !is_all(node.inputs[2], 0)) return {};
  const Node* there = producer_of(node.inputs[0], "Reshape", 2);
  const Node* back = only_user(node.outputs[0], "Reshape", 2);
  if (!there || !back) return {};
  match.x = there->inputs[0];
  const TypeInfo& type = match.x->type;
  if (type.dtype != DType::kFloat || !type.has_rank || type.shape.size() < 3) return {};
  if (!restores_shape(*back, match.x)) return {};
  match.groups = groups_of(there->outputs[0], match.x);
  if (match.groups == 0) return {};
  match.epsilon = node.get<float>("epsilon", 1e-5F);
  const Node* scaling = only_user(back->outputs[0], "Mul", 2);
  const Node* shifting = scaling ? only_user(scaling->outputs[0], "Add", 2) : nullptr;
  if (!shifting) return {};
  match.scale = other_operand(*scaling, back->outputs[0]);
  match.shift = other_operand(*shifting, scaling->outputs[0]);
  const size_t rank = type.shape.size();
  if (!is_by_channel(match.scale, type.shape[1], rank) ||
      !is_by_channel(match.shift, type.shape[1], rank))
    return {};
  match.result = shifting->outputs[0];
  return match;
}

Node* make_group_normalization(Graph& graph, const GroupNormMatch& match) {
  Node* node = graph.add_node("GroupNormalization", "", 21, match.result->producer->name);
  node->attributes.push_back({"epsilon", match.epsilon});
  node->attributes.push_back({"num_groups", match.groups});
  graph.add_input(node, match.x);
  for (const GraphValue* by_channel : {match.scale, match.shift}) {
    ValueRef flat = reshaped(by_channel->constant, {match.x->type.shape[1]});
    graph.add_input(node, graph.add_constant(by_channel->name, std::move(flat)));
  }
  return node;
}

}  // namespace

bool fuse_group_normalization(Graph& graph, const PassContext& context) {
  return fuse_pattern(graph, context, group_norm_of, make_group_normalization);
}

}  // namespace gantry

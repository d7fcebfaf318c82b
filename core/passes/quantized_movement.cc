// SPDX-License-Identifier: Apache-2.0
// Lets operators that only move or select elements work on quantized tensors: between a
// DequantizeLinear and a QuantizeLinear of equal scale and zero point the result is the same.
//
//   %a = DequantizeLinear-23(%q, %s, %z)
//   %b = Reshape-21(%a, %shape)            =>   %y = Reshape-21(%q, %shape)
//   %y = QuantizeLinear-23(%b, %s, %z)
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "passes/pipeline.h"
#include "passes/quantization.h"
#include "passes/replace.h"

namespace gantry {
namespace {

struct MovingOperator {
  std::string_view name;
  int first_version;      // the first that supports 8-bit integers
  bool moves_all_inputs;  // false: only the first
};

constexpr std::array<MovingOperator, 17> kMovingOperators = {{
    {"Concat", 4, true},
    {"DepthToSpace", 1, false},
    {"Expand", 8, false},
    {"Flatten", 9, false},
    {"Gather", 1, false},
    {"GatherElements", 11, false},
    {"GatherND", 11, false},
    {"MaxPool", 12, false},
    {"Reshape", 5, false},
    {"Resize", 10, false},
    {"Slice", 1, false},
    {"SpaceToDepth", 1, false},
    {"Split", 2, false},
    {"Squeeze", 1, false},
    {"Tile", 6, false},
    {"Transpose", 1, false},
    {"Unsqueeze", 1, false},
}};

const MovingOperator* operator_of(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  const auto* found = std::find_if(
      kMovingOperators.begin(), kMovingOperators.end(), [&](const MovingOperator& candidate) {
        return candidate.name == node.op_type && node.since_version >= candidate.first_version;
      });
  return found == kMovingOperators.end() ? nullptr : found;
}

// The quantization of the DequantizeLinear that makes a value; nothing: it is not made by one.
std::optional<TensorQuantization> source_of(const GraphValue* value) {
  if (!value || !value->producer || !is_dequantize(*value->producer)) return std::nullopt;
  return quantization_of(*value->producer);
}

// True if all readers of the value quantize it with these parameters.
bool is_quantized_as(const GraphValue* value, const TensorQuantization& wanted) {
  if (!value || value->users.empty() || value->is_output()) return false;
  return std::all_of(value->users.begin(), value->users.end(), [&](const Node* user) {
    return is_quantize(*user) && user->inputs[0] == value && quantization_of(*user) == wanted;
  });
}

bool has_text(const Node& node, std::string_view attribute, std::string_view text) {
  const Attribute* found = node.find(attribute);
  const auto* value = found ? std::get_if<std::string>(&found->value) : nullptr;
  return value && *value == text;
}

// Not a MaxPool with its second output (indices). A Resize only in mode nearest, the default, and
// without tf_crop_and_resize, which extrapolates.
bool only_moves(const Node& node) {
  if (node.op_type == "MaxPool") return node.outputs.size() == 1 || !node.outputs[1];
  if (node.op_type != "Resize") return true;
  return (!node.find("mode") || has_text(node, "mode", "nearest")) &&
         !has_text(node, "coordinate_transformation_mode", "tf_crop_and_resize");
}

bool move(Graph& graph, Node& node, size_t moved_inputs) {
  const auto quantization = source_of(node.inputs[0]);
  if (!quantization) return false;
  for (size_t i = 1; i < moved_inputs; ++i) {
    if (source_of(node.inputs[i]) != quantization) return false;
  }
  for (const GraphValue* output : node.outputs) {
    if (output && !is_quantized_as(output, *quantization)) return false;
  }
  // A quantized result that is a graph output keeps its name, so a value may have only one.
  for (const GraphValue* output : node.outputs) {
    if (output && output->users.size() > 1 &&
        std::any_of(output->users.begin(), output->users.end(),
                    [](const Node* user) { return user->outputs[0]->is_output(); }))
      return false;
  }
  for (size_t i = 0; i < moved_inputs; ++i)
    graph.set_input(&node, i, node.inputs[i]->producer->inputs[0]);
  for (GraphValue* output : node.outputs) {
    if (!output) continue;
    const std::vector<Node*> users = output->users;
    output->type.dtype = quantization->dtype;
    for (Node* user : users) {
      GraphValue* result = user->outputs[0];
      graph.remove_node(user);
      try_replace(graph, result, output);
    }
  }
  return true;
}

}  // namespace

bool move_quantized(Graph& graph, const PassContext&) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    const MovingOperator* found = operator_of(*node);
    if (!found || node->inputs.empty() || !only_moves(*node)) continue;
    changed |= move(graph, *node, found->moves_all_inputs ? node->inputs.size() : 1);
  }
  if (changed) graph.sweep();
  return changed;
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// Fuses exporters' patterns of HardSigmoid, also within HardSwish, to the operator HardSigmoid
// (ai.onnx opset 6). In a HardSwish the division may come after the product.
//
//   %a = Add-14(%x, %three)
//   %b = Clip-13(%a, %zero, %six)
//   %y = Div-14(%b, %six)         =>   %y = HardSigmoid-6(%x) {alpha = 1 / 6, beta = 0.5}
#include <limits>
#include <vector>

#include "passes/pattern.h"
#include "passes/pipeline.h"
#include "passes/replace.h"

namespace gantry {
namespace {

constexpr double kSixth = 1.0 / 6;

struct HardSigmoidMatch {
  GraphValue* x = nullptr;
  GraphValue* clipped = nullptr;  // the value that is divided by 6
  GraphValue* product = nullptr;  // of `clipped` and x, if the product is divided instead
  GraphValue* result = nullptr;
};

// True of a Clip from 0 to 6: bounds are attributes before version 11, inputs since.
bool is_clip(const Node& node) {
  if (is_operator(node, "Clip", 3))
    return is_scalar_constant(node.inputs[1], 0) && is_scalar_constant(node.inputs[2], 6);
  if (!is_operator(node, "Clip", 1) || node.since_version >= 11) return false;
  constexpr float kMost = std::numeric_limits<float>::max();
  return node.get<float>("min", -kMost) == 0 && node.get<float>("max", kMost) == 6;
}

HardSigmoidMatch hard_sigmoid_of(const Node& clip) {
  if (!is_clip(clip)) return {};
  const Node* sum = producer_of(clip.inputs[0], "Add", 2);
  if (!sum) return {};
  HardSigmoidMatch match;
  if (is_scalar_constant(sum->inputs[1], 3)) {
    match.x = sum->inputs[0];
  } else if (is_scalar_constant(sum->inputs[0], 3)) {
    match.x = sum->inputs[1];
  } else {
    return {};
  }
  if (match.x->type.dtype == DType::kDouble) return {};  // alpha, a float, has no double 1 / 6
  match.clipped = clip.outputs[0];
  const Node* next = only_user(match.clipped);
  if (next && is_operator(*next, "Mul", 2) && other_operand(*next, match.clipped) == match.x) {
    match.product = next->outputs[0];
    next = only_user(match.product);
  }
  const GraphValue* divided = match.product ? match.product : match.clipped;
  if (!next || scaled_by(next, kSixth) != divided) return {};
  match.result = next->outputs[0];
  return match;
}

}  // namespace

bool fuse_hard_sigmoid(Graph& graph, const PassContext& context) {
  std::vector<const Node*> clips;
  for (const auto& node : graph.nodes()) {
    if (is_clip(*node)) clips.push_back(node.get());
  }
  bool has_changed = false;
  for (const Node* clip : clips) {
    // Matched one by one: the result of one match may be the input of the next.
    const HardSigmoidMatch match = hard_sigmoid_of(*clip);
    if (!match.result || !have_one_rank(match.x, match.result) ||
        are_taken_together(context, *clip, *match.result->producer))
      continue;
    // The product was divided, so it takes the place of the quotient.
    if (match.product && !try_replace(graph, match.result, match.product)) continue;
    GraphValue* made = match.product ? match.clipped : match.result;
    Node* node = graph.add_node("HardSigmoid", "", 6, made->producer->name);
    node->attributes.push_back({"alpha", static_cast<float>(kSixth)});
    node->attributes.push_back({"beta", 0.5F});
    graph.add_input(node, match.x);
    take_over(graph, made, node);
    has_changed = true;
  }
  if (has_changed) {
    graph.sweep();
    graph.sort();
  }
  return has_changed;
}

}  // namespace gantry

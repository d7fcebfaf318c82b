// SPDX-License-Identifier: Apache-2.0
// Moves zeros that a Pad puts around an image into the convolution's own padding, which copies
// nothing. Exporters write so where a framework pads by "same" or at one side only.
//
//   %p = Pad-18(%x, {0, 0, 1, 1, 0, 0, 2, 2})
//   %y = Conv-11(%p, %w) {pads = [0, 0, 0, 0]}   =>   %y = Conv-11(%x, %w) {pads = [1, 1, 2, 2]}
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "passes/fuse_pattern.h"
#include "passes/pattern.h"
#include "passes/pipeline.h"

namespace gantry {
namespace {

struct PaddedConvolution {
  Node* convolution = nullptr;
  GraphValue* x = nullptr;  // what the Pad pads
  std::vector<int64_t> pads;
  GraphValue* result = nullptr;
};

// The elements of a constant of int64; empty: it is none.
std::span<const int64_t> integers_of(const GraphValue* value) {
  if (!value || !value->constant || value->constant->dtype != DType::kInt64) return {};
  const gantry_tensor& view = value->constant->view;
  return {static_cast<const int64_t*>(view.data), view.size_bytes / sizeof(int64_t)};
}

const GraphValue* input_of(const Node& node, size_t index) {
  return index < node.inputs.size() ? node.inputs[index] : nullptr;
}

// What the Pad adds along each axis, all beginnings and then all ends; empty: not known, not zeros,
// or it takes something away.
std::vector<int64_t> zeros_of(const Node& pad, size_t rank) {
  if (pad.get<std::string>("mode", "constant") != "constant") return {};
  std::vector<int64_t> given;
  std::vector<int64_t> axes;
  if (pad.since_version < 11) {  // attributes before, inputs since
    given = pad.get<std::vector<int64_t>>("pads", {});
    if (pad.get<float>("value", 0) != 0) return {};
  } else {
    const std::span<const int64_t> pads = integers_of(input_of(pad, 1));
    given.assign(pads.begin(), pads.end());
    const GraphValue* filling = input_of(pad, 2);
    if (filling && !is_scalar_constant(filling, 0)) return {};
    const GraphValue* listed = input_of(pad, 3);
    if (listed && integers_of(listed).empty()) return {};
    const std::span<const int64_t> some = integers_of(listed);
    axes.assign(some.begin(), some.end());
  }
  if (axes.empty()) {
    for (size_t axis = 0; axis < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
  }
  if (given.size() != 2 * axes.size()) return {};
  std::vector<int64_t> all(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + static_cast<int64_t>(rank) : axes[i];
    if (axis < 0 || axis >= static_cast<int64_t>(rank)) return {};
    all[static_cast<size_t>(axis)] += given[i];
    all[rank + static_cast<size_t>(axis)] += given[axes.size() + i];
  }
  return *std::min_element(all.begin(), all.end()) < 0 ? std::vector<int64_t>() : all;
}

PaddedConvolution padded_convolution_of(const Node& pad) {
  if (pad.op_type != "Pad" || !pad.domain.empty() || pad.inputs.empty() || pad.outputs.size() != 1)
    return {};
  Node* convolution = only_user(pad.outputs[0]);
  if (!convolution || convolution->op_type != "Conv" || !convolution->domain.empty() ||
      convolution->inputs[0] != pad.outputs[0])
    return {};
  GraphValue* x = pad.inputs[0];
  if (!x || !x->type.has_rank || x->type.shape.size() < 3) return {};
  const size_t rank = x->type.shape.size();
  const size_t spatial = rank - 2;
  const std::vector<int64_t> zeros = zeros_of(pad, rank);
  if (zeros.empty() || zeros[0] + zeros[1] + zeros[rank] + zeros[rank + 1] != 0) return {};
  const auto automatic = convolution->get<std::string>("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID") return {};
  std::vector<int64_t> pads = convolution->get<std::vector<int64_t>>("pads", {});
  if (pads.empty() || automatic == "VALID") pads.assign(2 * spatial, 0);
  if (pads.size() != 2 * spatial) return {};
  for (size_t i = 0; i < spatial; ++i) {
    pads[i] += zeros[2 + i];
    pads[spatial + i] += zeros[rank + 2 + i];
  }
  return {convolution, x, std::move(pads), convolution->outputs[0]};
}

Node* make_convolution(Graph& graph, const PaddedConvolution& match) {
  Node* old = match.convolution;
  Node* node = graph.add_node("Conv", "", old->since_version, old->name);
  std::swap(node->name, old->name);  // rules and profiles know it by its name
  node->attributes = std::move(old->attributes);
  std::erase_if(node->attributes, [](const Attribute& attribute) {
    return attribute.name == "pads" || attribute.name == "auto_pad";
  });
  node->attributes.push_back({"pads", match.pads});
  graph.add_input(node, match.x);
  for (size_t i = 1; i < old->inputs.size(); ++i) graph.add_input(node, old->inputs[i]);
  return node;
}

}  // namespace

bool fuse_pad_into_convolution(Graph& graph, const PassContext& context) {
  return fuse_pattern(graph, context, padded_convolution_of, make_convolution);
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
#include "fuse/conv_epilogue.h"

#include <gantry/sdk/rows.h>

#include <cmath>

namespace gantry::cuda {
namespace {

constexpr sdk::DTypeSet kTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16);

// The tensor that an Add adds to `result`, if it may have the same shape. Unknown extents are taken
// for equal ones, as the kernel broadcasts where they turn out not to be.
uint32_t addend_of(const sdk::GraphIndex& index, uint32_t node, uint32_t result) {
  if (!sdk::is_operator(index, node, "Add", 2)) return GANTRY_NONE;
  const uint32_t other = index.raw(node).inputs[index.raw(node).inputs[0] == result ? 1 : 0];
  const sdk::ValueView made = index.value(result);
  const sdk::ValueView added = index.value(other);
  if (made.rank() != added.rank() || made.dtype() != added.dtype() || added.is_constant())
    return GANTRY_NONE;
  for (int axis = 0; axis < made.rank(); ++axis) {
    if (made.extent(axis) != added.extent(axis)) return GANTRY_NONE;
  }
  return other;
}

// A Relu, or a Clip from 0 to a finite bound.
bool fuse_relu(const sdk::NodeView& node, ConvEpilogue& epilogue) {
  float least = 0;
  float most = 0;
  if (!find_bounds(node, least, most) || least != 0) return false;
  const bool is_clip = node.op_type() == "Clip";
  if (is_clip && (!(most > 0) || !std::isfinite(most))) return false;
  epilogue.has_relu = true;
  epilogue.most = is_clip ? most : 0;
  return true;
}

}  // namespace

std::unique_ptr<ConvFusion> match_conv(const sdk::FusionScope& scope, uint32_t root) {
  const sdk::GraphIndex& index = scope.index();
  if (!sdk::is_operator(index, root, "Conv") && !sdk::is_operator(index, root, "ConvTranspose"))
    return nullptr;
  const sdk::ValueView x = index.node(root).input(0);
  if (!(sdk::dtype_bit(x.dtype()) & kTypes)) return nullptr;
  auto fusion = std::make_unique<ConvFusion>();
  fusion->root = root;
  fusion->nodes = {root};
  fusion->channels_last = channels_last_of(x);
  fusion->channels_last_inputs = {index.raw(root).inputs[0]};
  uint32_t next = next_of(scope, root);
  const uint32_t addend =
      next == GANTRY_NONE ? GANTRY_NONE : addend_of(index, next, sdk::result_of(index, root));
  if (addend != GANTRY_NONE) {
    fusion->nodes.push_back(next);
    fusion->channels_last_inputs.push_back(addend);
    fusion->epilogue.addend_slot = static_cast<int>(index.raw(root).input_count);
    next = next_of(scope, next);
  }
  if (next != GANTRY_NONE && fuse_relu(index.node(next), fusion->epilogue))
    fusion->nodes.push_back(next);
  return fusion;
}

}  // namespace gantry::cuda

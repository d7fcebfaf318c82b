// SPDX-License-Identifier: Apache-2.0
#include "experts/layer.h"

#include "fuse/constants.h"

namespace gantry::x86 {
namespace {

int64_t source_column(int64_t column, int64_t columns, bool are_pairs) {
  const int64_t half = columns / 2;
  if (!are_pairs) return column;
  return column < half ? 2 * column : 2 * (column - half) + 1;
}

}  // namespace

LayerWeights::LayerWeights(const sdk::NodeView& node, const LayerInputs& inputs,
                           const LayerShape& shape, bool are_pairs)
    : shape(shape), are_pairs_(are_pairs) {
  const sdk::ValueView given = node.input(inputs.bias);
  if (!given.present()) return;
  const std::vector<float> in_order = floats_of(given);
  bias.resize(in_order.size());
  for (int64_t expert = 0; expert < shape.experts; ++expert) {
    for (int64_t column = 0; column < shape.columns; ++column) {
      bias[static_cast<size_t>(expert * shape.columns + column)] =
          in_order[static_cast<size_t>(row_of(expert, column))];
    }
  }
}

int64_t LayerWeights::row_of(int64_t expert, int64_t column) const {
  return expert * shape.columns + source_column(column, shape.columns, are_pairs_);
}

bool has_extents(const sdk::ValueView& value, const std::vector<int64_t>& extents) {
  if (value.rank() != static_cast<int>(extents.size())) return false;
  for (int axis = 0; axis < value.rank(); ++axis) {
    if (value.extent(axis) != extents[static_cast<size_t>(axis)]) return false;
  }
  return true;
}

std::string bias_refusal(const sdk::NodeView& node, const LayerInputs& inputs,
                         const LayerShape& shape) {
  const sdk::ValueView bias = node.input(inputs.bias);
  const bool fits = !bias.present() || (bias.constant() && bias.constant()->dtype == GANTRY_FLOAT &&
                                        has_extents(bias, {shape.experts, shape.columns}));
  return fits ? ""
              : std::string(inputs.name) +
                    "'s bias is no constant of f32 with the extents of its results";
}

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
#include "direct/depthwise_block.h"

#include <algorithm>

#include "direct/code.h"
#include "kernels/conv_shape.h"
#include "kernels/kernels.h"

namespace gantry::onednn {
namespace {

// A tensor from here on is not found in the second cache by the kernel that reads it next.
constexpr int64_t kLeastElements = 1 << 18;
// Weights that pass by for each row, and the rows under a window, stay in that cache.
constexpr int64_t kMostWeights = 1 << 16;
constexpr int64_t kMostRingElements = 1 << 18;

// 0: not known; of images one, if their number is not.
int64_t elements_of(const sdk::ValueView& value) {
  if (value.rank() != 4) return 0;
  int64_t elements = std::max<int64_t>(value.extent(0), 1);
  for (int axis = 1; axis < 4; ++axis) elements *= std::max<int64_t>(value.extent(axis), 0);
  return elements;
}

bool is_plain(const Unit& unit) {
  return !unit.is_quantized() && !unit.rounds_to_bf16 && tile_steps_of(unit.chain).has_value();
}

bool is_pointwise(const GraphIndex& index, const Unit& unit) {
  if (!is_plain(unit)) return false;
  const ConvShape shape(index, unit);
  return shape.fault.empty() && shape.spatial_rank() == 2 && shape.is_of_pixels() &&
         shape.products() * shape.output_channels() <= kMostWeights;
}

// The rows of its source that its window spans stay in the cache.
bool is_depthwise(const GraphIndex& index, const Unit& unit) {
  if (!is_plain(unit) || unit.addend.value != GANTRY_NONE || !is_depthwise_here(index, unit))
    return false;
  const ConvShape shape(index, unit);
  const int64_t row = index.value(unit.sources[0].value).extent(3) * shape.input_channels();
  const int64_t held = (shape.window.kernel[0] - 1) * shape.window.dilations[0] + 1;
  return held * row <= kMostRingElements;
}

// The convolution that is all that reads a unit's result, which is large. Nothing: there is none.
std::optional<Unit> reader_of_large(const GraphIndex& index, const Unit& unit,
                                    const UnitMaker& unit_of_conv) {
  const uint32_t value = unit.target.value;
  if (elements_of(index.value(value)) < kLeastElements) return std::nullopt;
  const uint32_t reader = index.only_reader(value);
  if (reader == GANTRY_NONE || index.raw(reader).inputs[0] != value) return std::nullopt;
  return unit_of_conv(reader);
}

}  // namespace

Unit DepthwiseBlock::whole() const {
  Unit unit = depthwise;
  for (const auto* around : {&expansion, &projection}) {
    if (*around)
      unit.nodes.insert(unit.nodes.end(), (*around)->nodes.begin(), (*around)->nodes.end());
  }
  std::sort(unit.nodes.begin(), unit.nodes.end());
  unit.sources = first().sources;
  unit.chain = {};
  unit.addend = last().addend;
  unit.target = last().target;
  return unit;
}

std::optional<DepthwiseBlock> depthwise_block_at(const GraphIndex& index, uint32_t anchor,
                                                 const UnitMaker& unit_of_conv) {
  DepthwiseBlock block;
  std::optional<Unit> unit = unit_of_conv(anchor);
  if (unit && unit->addend.value == GANTRY_NONE && is_pointwise(index, *unit)) {
    block.expansion = std::move(unit);
    unit = reader_of_large(index, *block.expansion, unit_of_conv);
  }
  if (!unit || !is_depthwise(index, *unit)) return std::nullopt;
  block.depthwise = std::move(*unit);
  unit = reader_of_large(index, block.depthwise, unit_of_conv);
  if (unit && is_pointwise(index, *unit)) block.projection = std::move(unit);
  if (!block.expansion && !block.projection) return std::nullopt;
  return block;
}

}  // namespace gantry::onednn

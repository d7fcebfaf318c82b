// SPDX-License-Identifier: Apache-2.0
#include "conv/depthwise_block_match.h"

#include <algorithm>

#include "conv/conv_shape.h"
#include "conv/direct/code.h"
#include "fuse/kernels.h"

namespace gantry::x86 {
namespace {

// An intermediate tensor of so many elements has left the L2 cache before the next kernel reads it.
constexpr int64_t kLeastElements = 1 << 18;
// The weights, which are read for each row, and the rows under a window stay in that cache.
constexpr int64_t kMostWeights = 1 << 16;
constexpr int64_t kMostRingElements = 1 << 18;

// Elements of an NCHW tensor; a dynamic batch counts as 1, other dynamic extents make it 0.
int64_t elements_of(const sdk::ValueView& value) {
  if (value.rank() != 4) return 0;
  int64_t elements = std::max<int64_t>(value.extent(0), 1);
  for (int axis = 1; axis < 4; ++axis) elements *= std::max<int64_t>(value.extent(axis), 0);
  return elements;
}

bool is_plain(const Fusion& fusion) {
  return !fusion.is_quantized() && !fusion.rounds_to_bf16 &&
         tile_steps_of(fusion.epilogue).has_value();
}

bool is_pointwise(const GraphIndex& index, const Fusion& fusion) {
  if (!is_plain(fusion)) return false;
  const ConvShape shape(index, fusion);
  return shape.fault.empty() && shape.spatial_rank() == 2 && shape.is_pointwise() &&
         shape.products() * shape.output_channels() <= kMostWeights;
}

// Requires that the rows of the source under a window stay in the cache.
bool is_depthwise(const GraphIndex& index, const Fusion& fusion) {
  if (!is_plain(fusion) || fusion.addend.value != GANTRY_NONE || !is_depthwise_here(index, fusion))
    return false;
  const ConvShape shape(index, fusion);
  const int64_t row = index.value(fusion.sources[0].value).extent(3) * shape.input_channels();
  const int64_t held = (shape.window.kernel[0] - 1) * shape.window.dilations[0] + 1;
  return held * row <= kMostRingElements;
}

// The convolution that is the only reader of a fusion's result, if that is large.
std::optional<Fusion> reader_of_large(const GraphIndex& index, const Fusion& fusion,
                                      const FusionMaker& fusion_of_conv) {
  const uint32_t value = fusion.target.value;
  if (elements_of(index.value(value)) < kLeastElements) return std::nullopt;
  const uint32_t reader = index.only_reader(value);
  if (reader == GANTRY_NONE || index.raw(reader).inputs[0] != value) return std::nullopt;
  return fusion_of_conv(reader);
}

}  // namespace

Fusion DepthwiseBlock::whole() const {
  Fusion fusion = depthwise;
  for (const auto* around : {&expansion, &projection}) {
    if (*around)
      fusion.nodes.insert(fusion.nodes.end(), (*around)->nodes.begin(), (*around)->nodes.end());
  }
  std::sort(fusion.nodes.begin(), fusion.nodes.end());
  fusion.sources = first().sources;
  fusion.epilogue = {};
  fusion.addend = last().addend;
  fusion.target = last().target;
  return fusion;
}

std::optional<DepthwiseBlock> depthwise_block_at(const GraphIndex& index, uint32_t root,
                                                 const FusionMaker& fusion_of_conv) {
  DepthwiseBlock block;
  std::optional<Fusion> fusion = fusion_of_conv(root);
  if (fusion && fusion->addend.value == GANTRY_NONE && is_pointwise(index, *fusion)) {
    block.expansion = std::move(fusion);
    fusion = reader_of_large(index, *block.expansion, fusion_of_conv);
  }
  if (!fusion || !is_depthwise(index, *fusion)) return std::nullopt;
  block.depthwise = std::move(*fusion);
  fusion = reader_of_large(index, block.depthwise, fusion_of_conv);
  if (fusion && is_pointwise(index, *fusion)) block.projection = std::move(fusion);
  if (!block.expansion && !block.projection) return std::nullopt;
  return block;
}

}  // namespace gantry::x86

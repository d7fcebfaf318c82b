// SPDX-License-Identifier: Apache-2.0
#include "int8/channel_scales.h"

#include "onednn/scales.h"

namespace gantry::x86 {
namespace {

/// The sum of `count` weights as s8, after adding `offset`.
int32_t sum_of(const uint8_t* numbers, int64_t count, uint8_t offset) {
  int32_t sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += static_cast<int8_t>(static_cast<uint8_t>(numbers[i] + offset));
  return sum;
}

}  // namespace

ChannelScales::ChannelScales(const KernelArgs& args, const ConvShape& shape) {
  const Fusion& fusion = args.fusion;
  const int64_t results = shape.output_channels();
  const Rescaling rescaling(fusion, 1);
  scales = ChannelNumbers(rescaling.scales());
  bias = ChannelNumbers(rescaling.bias_of(folded_bias(args.index, fusion, results)));
  const int32_t zero_point = fusion.sources[0].quantization->zero_point;
  const int64_t count = shape.products();
  const auto* weights =
      static_cast<const uint8_t*>(args.index.value(fusion.weights).constant()->data);
  std::vector<int32_t> taken(static_cast<size_t>(results), 0);
  for (int64_t i = 0; zero_point != 0 && i < results; ++i) {
    taken[static_cast<size_t>(i)] =
        -zero_point * sum_of(weights + i * count, count, weight_offset(fusion));
  }
  starts = ChannelNumbers(taken);
}

}  // namespace gantry::x86

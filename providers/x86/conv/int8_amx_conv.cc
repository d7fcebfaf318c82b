// SPDX-License-Identifier: Apache-2.0
// Conv in int8 (ai.onnx 1, 11, 22, between QuantizeLinear and DequantizeLinear) and QLinearConv
// (10) of one group with one or two spatial axes, on AMX.
#include <optional>
#include <utility>
#include <vector>

#include "conv/conv_run.h"
#include "conv/implementations.h"
#include "fuse/kernels.h"
#include "int8/amx.h"
#include "int8/amx_run.h"
#include "int8/amx_weights.h"
#include "int8/channel_scales.h"

namespace gantry::x86 {
namespace {

/// One shape of input.
struct AmxPlan : ConvPlan {
  TileConvolution convolution;
  std::optional<TileLayout> layout;

  using ConvPlan::ConvPlan;
};

class Int8AmxConvKernel final : public sdk::Kernel {
 public:
  Int8AmxConvKernel(const KernelArgs& args, ConvShape shape, std::vector<Int8EpilogueStep> steps)
      : shape_(std::move(shape)), fusion_(args.fusion), steps_(std::move(steps)), slots_(args) {
    const Window& window = shape_.window;
    order_.channels = shape_.input_channels();
    const size_t rank = shape_.spatial_rank();
    for (size_t i = 0; i < rank; ++i) order_.window[2 - rank + i] = window.kernel[i];
    order_.is_dense = window.kernel.back() == 1 || window.dilations.back() == 1;
    PlainTileWeights plain;
    plain.numbers = args.index.value(fusion_.weights).constant()->data;
    plain.results = shape_.output_channels();
    plain.result_step = shape_.products();
    plain.channel_step = order_.window[0] * order_.window[1];
    plain.tap_step = 1;
    plain.offset = weight_offset(fusion_);
    weights_.pack(args.index.host(), args.choices, plain, order_);
    numbers_ = ChannelScales(args, shape_);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<AmxPlan>>();
  }

  void run(sdk::Call& call) const override {
    run_convolution<AmxPlan>(
        call, shape_, slots_, [&](const sdk::Shape& input) { return make_plan(input); },
        [&](const AmxPlan& plan) {
          run_tiles(call, plan.convolution, *plan.layout,
                    {static_cast<const uint8_t*>(plan.source),
                     static_cast<const uint8_t*>(plan.addend), static_cast<uint8_t*>(plan.target)});
        });
  }

 private:
  [[nodiscard]] AmxPlan make_plan(const sdk::Shape& input) const {
    const Window& window = shape_.window;
    AmxPlan plan(shape_, input);
    if (plan.is_empty) return plan;
    TileConvolution& c = plan.convolution;
    c.order = order_;
    c.results = shape_.output_channels();
    c.images = plan.output[0];
    const size_t rank = shape_.spatial_rank();
    c.source[0] = c.target[0] = 1;
    for (size_t i = 0; i < rank; ++i) {
      const size_t axis = 2 - rank + i;
      c.strides[axis] = window.strides[i];
      c.dilations[axis] = window.dilations[i];
      c.pads[axis] = plan.placed.pads_begin[i];
      c.source[axis] = plan.input[i + 2];
      c.target[axis] = plan.output[i + 2];
    }
    c.weights = weights_.numbers();
    c.starts = numbers_.starts.data();
    c.scales = numbers_.scales.data();
    c.bias = numbers_.bias.data();
    c.is_signed = fusion_.sources[0].type() == Type::s8;
    c.padding = static_cast<uint8_t>(fusion_.sources[0].quantization->zero_point);
    c.steps = steps_;
    c.target_type = int8_type_of(fusion_.target.type());
    if (fusion_.target.quantization) c.zero_point = fusion_.target.quantization->zero_point;
    plan.layout.emplace(c);
    return plan;
  }

  ConvShape shape_;
  Fusion fusion_;
  std::vector<Int8EpilogueStep> steps_;
  ConvSlots slots_;
  TileOrder order_;
  TileWeights weights_;
  ChannelScales numbers_;
};

}  // namespace

Made make_int8_amx_conv(const KernelArgs& args) {
  const Fusion& fusion = args.fusion;
  if (!has_tile_code()) return refuse("the CPU has no AMX");
  ConvShape shape(args.index, fusion);
  if (shape.groups != 1) return refuse("it has groups");
  if (shape.spatial_rank() > 2) return refuse("it has three spatial axes");
  auto steps = int8_epilogue_of(fusion);
  if (!steps) return refuse("no code for a step of the epilogue");
  return made<Int8AmxConvKernel>(args, std::move(shape), std::move(*steps));
}

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// Conv in int8 (ai.onnx 1, 11, 22, between QuantizeLinear and DequantizeLinear) and QLinearConv
// (10) with two spatial axes, few pixels and many weights, on AVX-512 with VNNI. oneDNN stalls
// there on weights that have left the L2 cache since the last run; this code prefetches them.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "conv/conv_run.h"
#include "conv/implementations.h"
#include "fuse/kernels.h"
#include "int8/channel_scales.h"
#include "int8/vnni.h"
#include "int8/vnni_weights.h"

namespace gantry::x86 {
namespace {

// Where it pays. With more pixels each weight is used so often that its cache miss does not count.
constexpr int64_t kMostPixels = 256;
constexpr int64_t kLeastWeights = 128 << 10;  // fewer stay in the L2 cache from run to run

/// One shape of input.
struct VnniPlan : ConvPlan {
  VnniConvolution convolution;
  int64_t pixels = 0;  ///< of the output
  int64_t tiles = 0;   ///< in all panels

  using ConvPlan::ConvPlan;
};

class Int8VnniConvKernel final : public sdk::Kernel {
 public:
  Int8VnniConvKernel(const KernelArgs& args, ConvShape shape, std::vector<Int8EpilogueStep> steps)
      : shape_(std::move(shape)), fusion_(args.fusion), steps_(std::move(steps)), slots_(args) {
    pack(args);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<VnniPlan>>();
  }

  void run(sdk::Call& call) const override {
    run_convolution<VnniPlan>(
        call, shape_, slots_, [&](const sdk::Shape& input) { return make_plan(input); },
        [&](const VnniPlan& plan) { convolve(call, plan); });
  }

 private:
  void convolve(sdk::Call& call, const VnniPlan& plan) const {
    constexpr int64_t kMultipliesPerTask = 1 << 20;
    const VnniConvolution& c = plan.convolution;
    const int64_t products = plan.pixels * c.weight_bytes() / plan.tiles;
    const auto* source = static_cast<const uint8_t*>(plan.source);
    const auto* addend = static_cast<const uint8_t*>(plan.addend);
    const sdk::Span span = call.span("int8 avx512_vnni");
    call.parallel_for(plan.tiles, 1 + kMultipliesPerTask / products,
                      [&](int64_t begin, int64_t end) {
                        const FlushDenormals flush;
                        convolve_tiles(c, source, addend, plan.target, plan.pixels, begin, end);
                      });
  }

  [[nodiscard]] VnniPlan make_plan(const sdk::Shape& input) const {
    const Window& window = shape_.window;
    VnniPlan plan(shape_, input);
    if (plan.is_empty) return plan;
    plan.pixels = plan.output[0] * plan.output[2] * plan.output[3];
    VnniConvolution& c = plan.convolution;
    c.channels = shape_.input_channels();
    c.results = shape_.output_channels();
    for (size_t i = 0; i < 2; ++i) {
      c.window[i] = window.kernel[i];
      c.strides[i] = window.strides[i];
      c.dilations[i] = window.dilations[i];
      c.pads[i] = plan.placed.pads_begin[i];
      c.source[i] = plan.input[i + 2];
      c.target[i] = plan.output[i + 2];
    }
    c.weights = weights_.numbers();
    c.starts = numbers_.starts.data();
    c.scales = numbers_.scales.data();
    c.bias = numbers_.bias.data();
    c.padding = padding_.data();
    c.steps = steps_;
    c.target_type = int8_type_of(fusion_.target.type());
    if (fusion_.target.quantization) c.zero_point = fusion_.target.quantization->zero_point;
    for (int64_t panel = 0; panel < c.panels(); ++panel)
      plan.tiles += tiles_of(c, panel, plan.pixels);
    return plan;
  }

  void pack(const KernelArgs& args) {
    const GraphIndex& index = args.index;
    const Quantization& source = *fusion_.sources[0].quantization;
    const VnniWeights::Plain plain = {index.value(fusion_.weights).constant()->data,
                                      shape_.output_channels(), shape_.input_channels(),
                                      shape_.window.kernel[0] * shape_.window.kernel[1],
                                      weight_offset(fusion_)};
    weights_.pack(index.host(), args.choices, plain);
    numbers_ = ChannelScales(args, shape_);
    padding_.assign(static_cast<size_t>(plain.channels), static_cast<uint8_t>(source.zero_point));
  }

  ConvShape shape_;
  Fusion fusion_;
  std::vector<Int8EpilogueStep> steps_;
  ConvSlots slots_;
  VnniWeights weights_;
  ChannelScales numbers_;
  std::vector<uint8_t> padding_;
};

/// True if it is known how many pixels the result has, and they are few for so many weights.
bool pays(const sdk::ValueView& source, const ConvShape& shape) {
  Dims input;
  for (int i = 0; i < 4; ++i) input.push_back(source.extent(i));
  if (*std::min_element(input.begin(), input.end()) < 1) return false;
  const Dims output = shape.output_of(input, shape.window.place({input[2], input[3]}));
  int64_t weights = 1;
  for (const int64_t extent : shape.weights) weights *= extent;
  return output[0] * output[2] * output[3] <= kMostPixels && weights >= kLeastWeights;
}

}  // namespace

Made make_int8_vnni_conv(const KernelArgs& args) {
  const Fusion& fusion = args.fusion;
  if (!has_vnni_code()) return refuse("the CPU has no AVX-512 with VNNI");
  if (fusion.sources[0].type() != Type::u8) return refuse("its source is not uint8");
  ConvShape shape(args.index, fusion);
  if (shape.groups != 1) return refuse("it has groups");
  if (shape.spatial_rank() != 2) return refuse("it has not two spatial axes");
  if (shape.input_channels() % kByteQuad != 0) return refuse("its channels are no multiple of 4");
  if (shape.window.kernel[0] * shape.window.kernel[1] > kMostTaps)
    return refuse("its window is large");
  if (!pays(args.index.value(fusion.sources[0].value), shape))
    return refuse("it has many pixels or few weights");
  auto steps = int8_epilogue_of(fusion);
  if (!steps) return refuse("no code for a step of the epilogue");
  return made<Int8VnniConvKernel>(args, std::move(shape), std::move(*steps));
}

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// Conv in int8 (ai.onnx 1, 11, 22, between QuantizeLinear and DequantizeLinear) and QLinearConv
// (10) where oneDNN's sums would not be exact, which is so on CPUs without VNNI; and with AVX-VNNI,
// where oneDNN is slower.
#include <algorithm>
#include <utility>
#include <vector>

#include "conv/conv_run.h"
#include "conv/implementations.h"
#include "fuse/kernels.h"
#include "int8/widened_layer.h"
#include "onednn/scales.h"

namespace gantry::x86 {
namespace {

/// Of the code with AVX-VNNI: with fewer, what is copied for the windows takes longer than oneDNN's
/// corrections.
constexpr int64_t kLeastResults = 64;

class Int8WidenedConvKernel final : public sdk::Kernel {
 public:
  Int8WidenedConvKernel(const KernelArgs& args, ConvShape shape)
      : shape_(std::move(shape)), fusion_(args.fusion), slots_(args) {
    pack(args);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<ConvPlan>>();
  }

  void run(sdk::Call& call) const override {
    const auto make = [&](const sdk::Shape& input) { return ConvPlan(shape_, input); };
    run_convolution<ConvPlan>(call, shape_, slots_, make,
                              [&](const ConvPlan& plan) { convolve(call, plan); });
  }

 private:
  void convolve(sdk::Call& call, const ConvPlan& plan) const {
    const Window& window = shape_.window;
    WidenedConvolution seen;
    const size_t rank = shape_.spatial_rank();
    for (size_t i = 0; i < rank; ++i) {
      const size_t axis = 3 - rank + i;
      seen.window[axis] = window.kernel[i];
      seen.strides[axis] = window.strides[i];
      seen.dilations[axis] = window.dilations[i];
      seen.pads[axis] = plan.placed.pads_begin[i];
      seen.source[axis] = plan.input[i + 2];
      seen.target[axis] = plan.output[i + 2];
    }
    const Quantization& source = *fusion_.sources[0].quantization;
    layer_.run(call, seen, plan.output[0],
               {plan.source, plan.addend, plan.target, source.type == Type::s8, source.zero_point,
                nullptr});
  }

  void pack(const KernelArgs& args) {
    const Rescaling rescaling(fusion_, 1);
    WidenedLayer::Plain plain;
    plain.numbers = args.index.value(fusion_.weights).constant()->data;
    plain.groups = shape_.groups;
    plain.results = shape_.output_channels() / shape_.groups;
    plain.channels = shape_.weights[1];
    plain.taps = shape_.products() / plain.channels;
    plain.result_step = plain.channels * plain.taps;
    plain.channel_step = plain.taps;
    plain.tap_step = 1;
    plain.offset = weight_offset(fusion_);
    layer_.pack(args.index.host(), args.choices, plain, fusion_,
                int8_type_of(fusion_.target.type()), rescaling.scales(),
                rescaling.bias_of(folded_bias(args.index, fusion_, shape_.output_channels())));
  }

  ConvShape shape_;
  Fusion fusion_;
  ConvSlots slots_;
  WidenedLayer layer_;
};

bool is_padded(const Window& window) {
  const auto any = [](const Dims& pads) {
    return std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad != 0; });
  };
  return window.automatic != Window::Auto::kNone || any(window.pads_begin) || any(window.pads_end);
}

}  // namespace

Made make_int8_widened_conv(const KernelArgs& args) {
  ConvShape shape(args.index, args.fusion);
  if (is_library_exact(shape.products())) return refuse("the CPU has VNNI: no sum saturates");
  return made<Int8WidenedConvKernel>(args, std::move(shape));
}

Made make_int8_avx_vnni_conv(const KernelArgs& args) {
  ConvShape shape(args.index, args.fusion);
  if (std::string why = avx_vnni_refusal(args.fusion, shape.products()); !why.empty())
    return refuse(std::move(why));
  if (shape.groups > 1) return refuse("it has groups");
  // oneDNN multiplies as fast, but corrects each pixel for the zero point of padding. What this
  // code copies for a window is read by all results.
  const Quantization& source = *args.fusion.sources[0].quantization;
  if (source.type == Type::u8 && source.zero_point == 0)
    return refuse("its source has no zero point");
  if (!is_padded(shape.window)) return refuse("it has no padding");
  if (shape.output_channels() < kLeastResults) return refuse("it has few results");
  return made<Int8WidenedConvKernel>(args, std::move(shape));
}

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// Conv in 8 bits (ai.onnx 1, 11, 22, between QuantizeLinear and DequantizeLinear) and QLinearConv
// (10) on CPUs on which the library's sums would saturate.
#include <utility>
#include <vector>

#include "bytes/word_layer.h"
#include "kernels/conv_run.h"
#include "kernels/kernels.h"
#include "rescaling.h"

namespace gantry::onednn {
namespace {

class WordConvKernel final : public sdk::Kernel {
 public:
  WordConvKernel(const KernelArgs& args, ConvShape shape)
      : shape_(std::move(shape)), unit_(args.unit), slots_(args) {
    pack(args);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<ConvPlan>>();
  }

  void run(sdk::Call& call) const override {
    const auto make = [&](const sdk::Shape& input) {
      ConvPlan plan(shape_, input);
      plan.add_operands(unit_, slots_);
      return plan;
    };
    run_convolution<ConvPlan>(call, shape_, slots_, dtype_of(unit_.target.type()), make,
                              [&](const ConvPlan& plan) { convolve(call, plan); });
  }

 private:
  void convolve(sdk::Call& call, const ConvPlan& plan) const {
    const Window& window = shape_.window;
    WordConvolution seen;
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
    const Quantization& source = *unit_.sources[0].quantization;
    layer_.run(call, seen, plan.output[0],
               {plan.source.data(), plan.addend.data(), plan.target.data(), source.type == Type::s8,
                source.zero_point, nullptr});
  }

  void pack(const KernelArgs& args) {
    const Rescaling rescaling(unit_, 1);
    WordLayer::Plain plain;
    plain.numbers = args.index.value(unit_.weights).constant()->data;
    plain.groups = shape_.groups;
    plain.results = shape_.output_channels() / shape_.groups;
    plain.channels = shape_.weights[1];
    plain.taps = shape_.products() / plain.channels;
    plain.result_step = plain.channels * plain.taps;
    plain.channel_step = plain.taps;
    plain.tap_step = 1;
    plain.offset = weight_offset(unit_);
    layer_.pack(args.index.host(), args.choices, plain, unit_, byte_type_of(unit_.target.type()),
                rescaling.scales(),
                rescaling.bias_of(folded_bias(args.index, unit_, shape_.output_channels())));
  }

  ConvShape shape_;
  Unit unit_;
  ConvSlots slots_;
  WordLayer layer_;
};

}  // namespace

std::unique_ptr<sdk::Kernel> make_word_conv(const KernelArgs& args) {
  if (!args.unit.is_quantized()) return nullptr;
  ConvShape shape(args.index, args.unit);
  if (is_library_exact(shape.products())) return nullptr;
  return std::make_unique<WordConvKernel>(args, std::move(shape));
}

}  // namespace gantry::onednn

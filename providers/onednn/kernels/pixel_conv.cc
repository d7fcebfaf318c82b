// SPDX-License-Identifier: Apache-2.0
// Conv (ai.onnx 1, 11, 22) in f32 with windows of one pixel, of few pixels: a product of these,
// channels innermost, with a constant matrix. As with other products of few rows, what the library
// waits for is the matrix.
#include <algorithm>
#include <utility>
#include <vector>

#include "dense/layer.h"
#include "kernels/conv_run.h"
#include "kernels/kernels.h"

namespace gantry::onednn {
namespace {

/// From here on the library, which need not bring the pixels into order, is as fast or faster.
constexpr int64_t kManyPixels = 192;

class PixelConvKernel final : public sdk::Kernel {
 public:
  PixelConvKernel(const KernelArgs& args, ConvShape shape)
      : shape_(std::move(shape)), unit_(args.unit), slots_(args) {
    const GraphIndex& index = args.index;
    layer_.pack(index.host(), args.choices,
                {index.value(unit_.weights).constant()->data, shape_.input_channels(),
                 shape_.output_channels(), /*is_transposed=*/true, unit_.chain.scale},
                folded_bias(index, unit_, shape_.output_channels()), unit_.chain);
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
    run_convolution<ConvPlan>(call, shape_, slots_, GANTRY_FLOAT, make, [&](const ConvPlan& plan) {
      int64_t pixels = plan.output[0];
      for (size_t axis = 2; axis < plan.output.size(); ++axis) pixels *= plan.output[axis];
      layer_.run(call, pixels, plan.source.data(), plan.addend.data(), plan.target.data());
    });
  }

 private:
  ConvShape shape_;
  Unit unit_;
  ConvSlots slots_;
  DenseLayer layer_;
};

}  // namespace

std::unique_ptr<sdk::Kernel> make_pixel_conv(const KernelArgs& args) {
  const Unit& unit = args.unit;
  if (unit.is_quantized() || unit.rounds_to_bf16 || unit.shuffle) return nullptr;
  ConvShape shape(args.index, unit);
  if (!shape.fault.empty() || !shape.is_of_pixels()) return nullptr;
  const sdk::ValueView source = args.index.value(unit.sources[0].value);
  int64_t pixels = 1;  // 0: not known
  for (int axis = 0; axis < source.rank(); ++axis) {
    if (axis != 1) pixels *= std::max<int64_t>(source.extent(axis), 0);
  }
  if (pixels < 1 || pixels >= kManyPixels || !dense_steps_of(unit.chain) ||
      !DenseLayer::takes(pixels, shape.input_channels(), shape.output_channels()))
    return nullptr;
  return std::make_unique<PixelConvKernel>(args, std::move(shape));
}

}  // namespace gantry::onednn

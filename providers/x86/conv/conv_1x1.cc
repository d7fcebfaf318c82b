// SPDX-License-Identifier: Apache-2.0
// Conv (ai.onnx 1, 11, 22) in f32 with 1x1 windows: a product of the pixels, channels innermost,
// with a constant matrix. The code is the same for any number of pixels, where the library makes
// new code for each, and as fast.
#include <utility>
#include <vector>

#include "conv/conv_run.h"
#include "conv/implementations.h"
#include "fuse/kernels.h"
#include "matmul/packed/layer.h"

namespace gantry::x86 {
namespace {

class Conv1x1Kernel final : public sdk::Kernel {
 public:
  Conv1x1Kernel(const KernelArgs& args, ConvShape shape)
      : shape_(std::move(shape)), fusion_(args.fusion), slots_(args) {
    const GraphIndex& index = args.index;
    layer_.pack(index.host(), args.choices,
                {index.value(fusion_.weights).constant()->data, shape_.input_channels(),
                 shape_.output_channels(), /*is_transposed=*/true, fusion_.epilogue.scale},
                folded_bias(index, fusion_, shape_.output_channels()), fusion_.epilogue);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<ConvPlan>>();
  }

  void run(sdk::Call& call) const override {
    const auto make = [&](const sdk::Shape& input) {
      ConvPlan plan(shape_, input);
      plan.add_operands(fusion_, slots_);
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
  Fusion fusion_;
  ConvSlots slots_;
  PackedMatMul layer_;
};

}  // namespace

Made make_conv_1x1(const KernelArgs& args) {
  const Fusion& fusion = args.fusion;
  if (fusion.rounds_to_bf16) return refuse("it is bf16");
  if (fusion.shuffle) return refuse("a channel shuffle is fused");
  ConvShape shape(args.index, fusion);
  if (!shape.fault.empty() || !shape.is_of_pixels()) return refuse("it is not 1x1");
  if (!PackedMatMul::takes(shape.output_channels()))
    return refuse("panels would be mostly empty, or the CPU has no code for it");
  if (!matmul_epilogue_of(fusion.epilogue)) return refuse("no code for a step of the epilogue");
  return made<Conv1x1Kernel>(args, std::move(shape));
}

}  // namespace gantry::x86

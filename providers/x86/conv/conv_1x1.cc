// SPDX-License-Identifier: Apache-2.0
// Conv (ai.onnx 1, 11, 22) in f32 with a 1x1 window: a matmul of the pixels, channels-last, with a
// constant matrix. As fast as oneDNN, which compiles code for each new number of pixels; this needs
// none.
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
  Conv1x1Kernel(const KernelArgs& args, ConvShape shape) : shape_(std::move(shape)), slots_(args) {
    const GraphIndex& index = args.index;
    const Fusion& fusion = args.fusion;
    layer_.pack(index.host(), args.choices,
                {index.value(fusion.weights).constant()->data, shape_.input_channels(),
                 shape_.output_channels(), /*is_transposed=*/true, fusion.epilogue.scale},
                folded_bias(index, fusion, shape_.output_channels()), fusion.epilogue);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<ConvPlan>>();
  }

  void run(sdk::Call& call) const override {
    const auto make = [&](const sdk::Shape& input) { return ConvPlan(shape_, input); };
    run_convolution<ConvPlan>(call, shape_, slots_, make, [&](const ConvPlan& plan) {
      int64_t pixels = plan.output[0];
      for (size_t axis = 2; axis < plan.output.size(); ++axis) pixels *= plan.output[axis];
      layer_.run(call, pixels, plan.source_floats(), plan.addend_floats(), plan.target_floats());
    });
  }

 private:
  ConvShape shape_;
  ConvSlots slots_;
  PackedMatMul layer_;
};

}  // namespace

Made make_conv_1x1(const KernelArgs& args) {
  const Fusion& fusion = args.fusion;
  if (fusion.rounds_to_bf16) return refuse("it is bf16");
  if (fusion.shuffle) return refuse("a channel shuffle is fused");
  ConvShape shape(args.index, fusion);
  if (!shape.fault.empty() || !shape.is_pointwise()) return refuse("it is not 1x1");
  if (!PackedMatMul::takes(shape.output_channels()))
    return refuse("panels would be mostly empty, or the CPU has no code for it");
  if (!matmul_epilogue_of(fusion.epilogue)) return refuse("no code for a step of the epilogue");
  return made<Conv1x1Kernel>(args, std::move(shape));
}

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// BatchNormalization (ai.onnx, every version) between int8 tensors, as a factor and a shift for
// each channel. Quantizers leave it where no convolution precedes it (DenseNet).
#include <gantry/sdk/error.h>

#include <optional>
#include <string>

#include "eltwise/int8_binary_code.h"
#include "eltwise/int8_tensor.h"
#include "fuse/constants.h"

namespace gantry::x86 {
namespace {

std::optional<Scaling> scaling_of(const sdk::NodeView& node) {
  if (node.op_type() != "BatchNormalization" || !is_constant_f32(node.input(1)))
    return std::nullopt;
  return normalization_of(node, element_count(node.input(1)));
}

class Int8BatchNormKernel final : public sdk::Kernel {
 public:
  explicit Int8BatchNormKernel(const KernelArgs& args)
      : label_(args.index.node(args.fusion.root).label()),
        source_(args, args.fusion.sources[0].value),
        output_slot_(static_cast<int>(args.output_slot())),
        is_target_formatted_(args.is_output_formatted(args.output_slot())),
        scaling_(*scaling_of(args.index.node(args.fusion.root))) {
    const Int8Bounds bounds = *int8_bounds_of(args.fusion.epilogue);
    pair_.first = *args.fusion.sources[0].quantization;
    pair_.target = *args.fusion.target.quantization;
    pair_.lowest = bounds.lowest / pair_.target.scale;
    pair_.highest = bounds.highest / pair_.target.scale;
    for (float& factor : scaling_.scale) factor *= pair_.first.scale / pair_.target.scale;
    for (float& shift : scaling_.shift) shift /= pair_.target.scale;
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape shape = call.shape(source_.slot);
    gantry_tensor& target = call.output(output_slot_, dtype_of(pair_.target.type), shape);
    const auto channels = static_cast<int64_t>(scaling_.scale.size());
    if (shape.rank < 2 || shape[1] != channels) fail(channels);
    const int64_t count = shape.element_count();
    if (count == 0) return;
    const uint8_t* from = source_.in_order(call, is_target_formatted_);
    auto* const to = static_cast<uint8_t*>(target.data);
    const int64_t pixels = shape.count(2, shape.rank);
    const float* factors = scaling_.scale.data();
    const float* shifts = scaling_.shift.data();
    if (is_target_formatted_ || pixels == 1) {
      call.parallel_for(count / channels, 1 + kInt8Grain / channels,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t at = begin * channels; at < end * channels; at += channels)
                            scale_each(pair_, factors, shifts, from + at, to + at, channels);
                        });
      return;
    }
    call.parallel_for(count / pixels, 1 + kInt8Grain / pixels, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t at = plane * pixels;
        const int64_t channel = plane % channels;
        scale_all(pair_, factors[channel], shifts[channel], from + at, to + at, pixels);
      }
    });
  }

 private:
  [[noreturn]] void fail(int64_t channels) const {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, label_ + ": the input was expected to have " +
                                                  std::to_string(channels) +
                                                  " channels on axis 1, as its parameters have");
  }

  std::string label_;
  Int8Binary pair_;  // its second operand is not used
  Int8Source source_;
  int output_slot_;
  bool is_target_formatted_;
  Scaling scaling_;
};

}  // namespace

std::string int8_batch_norm_refusal(const GraphIndex& index, const Fusion& fusion) {
  if (!scaling_of(index.node(fusion.root))) return "it trains, or its parameters are not constant";
  return int8_bounds_of(fusion.epilogue) ? "" : "a function behind it that is no bound, in int8";
}

Made make_int8_batch_norm(const KernelArgs& args) { return made<Int8BatchNormKernel>(args); }

}  // namespace gantry::x86

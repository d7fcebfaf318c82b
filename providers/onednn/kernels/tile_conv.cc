// SPDX-License-Identifier: Apache-2.0
// Conv in 8 bits (ai.onnx 1, 11, 22, between QuantizeLinear and DequantizeLinear) and QLinearConv
// (10) of one group with one or two spatial axes, by code of this provider's own for AMX.
#include <optional>
#include <utility>
#include <vector>

#include "bytes/tile_weights.h"
#include "bytes/tiles.h"
#include "kernels/byte_numbers.h"
#include "kernels/conv_run.h"
#include "kernels/kernels.h"
#include "kernels/tile_run.h"

namespace gantry::onednn {
namespace {

/// One shape of input.
struct Plan : ConvPlan {
  TileConvolution convolution;
  std::optional<TileLayout> layout;

  using ConvPlan::ConvPlan;
};

class TileConvKernel final : public sdk::Kernel {
 public:
  TileConvKernel(const KernelArgs& args, ConvShape shape, std::vector<ByteStep> steps)
      : shape_(std::move(shape)), unit_(args.unit), steps_(std::move(steps)), slots_(args) {
    const Window& window = shape_.window;
    order_.channels = shape_.input_channels();
    const size_t rank = shape_.spatial_rank();
    for (size_t i = 0; i < rank; ++i) order_.window[2 - rank + i] = window.kernel[i];
    order_.is_dense = window.kernel.back() == 1 || window.dilations.back() == 1;
    PlainTileWeights plain;
    plain.numbers = args.index.value(unit_.weights).constant()->data;
    plain.results = shape_.output_channels();
    plain.result_step = shape_.products();
    plain.channel_step = order_.window[0] * order_.window[1];
    plain.tap_step = 1;
    plain.offset = weight_offset(unit_);
    weights_.pack(args.index.host(), args.choices, plain, order_);
    numbers_ = ByteNumbers(args, shape_);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<Plan>>();
  }

  void run(sdk::Call& call) const override {
    run_convolution<Plan>(
        call, shape_, slots_, dtype_of(unit_.target.type()),
        [&](const sdk::Shape& input) { return make_plan(input); },
        [&](const Plan& plan) {
          run_tiles(call, plan.convolution, *plan.layout,
                    {reinterpret_cast<const uint8_t*>(plan.source.data()),
                     reinterpret_cast<const uint8_t*>(plan.addend.data()),
                     reinterpret_cast<uint8_t*>(plan.target.data())});
        });
  }

 private:
  [[nodiscard]] Plan make_plan(const sdk::Shape& input) const {
    const Window& window = shape_.window;
    Plan plan(shape_, input);
    if (plan.is_empty) return plan;
    plan.add_operands(unit_, slots_);
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
    c.is_signed = unit_.sources[0].type() == Type::s8;
    c.padding = static_cast<uint8_t>(unit_.sources[0].quantization->zero_point);
    c.steps = steps_;
    c.target_type = byte_type_of(unit_.target.type());
    if (unit_.target.quantization) c.zero_point = unit_.target.quantization->zero_point;
    plan.layout.emplace(c);
    return plan;
  }

  ConvShape shape_;
  Unit unit_;
  std::vector<ByteStep> steps_;
  ConvSlots slots_;
  TileOrder order_;
  TileWeights weights_;
  ByteNumbers numbers_;
};

}  // namespace

std::unique_ptr<sdk::Kernel> make_tile_conv(const KernelArgs& args) {
  const Unit& unit = args.unit;
  if (!has_tile_code() || !unit.is_quantized()) return nullptr;
  ConvShape shape(args.index, unit);
  if (shape.groups != 1 || shape.spatial_rank() > 2) return nullptr;
  auto steps = byte_steps_of(unit);
  if (!steps) return nullptr;
  return std::make_unique<TileConvKernel>(args, std::move(shape), std::move(*steps));
}

}  // namespace gantry::onednn

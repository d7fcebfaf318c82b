// SPDX-License-Identifier: Apache-2.0
// A depthwise Conv and the 1x1 Convs around it (depthwise_block.h), row by row and channels-last.
// Only as many rows of the intermediate tensors exist as the window spans, so that they stay in the
// L2 cache. Threads divide the rows of the result; source rows that two of them need are expanded
// twice.

#include "conv/depthwise_block.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "conv/conv_run.h"
#include "conv/direct/channel_weights.h"
#include "conv/direct/code.h"
#include "conv/direct/row_ring.h"
#include "fuse/kernels.h"

namespace gantry::x86 {
namespace {

/// A 1x1 convolution.
class GemmOf1x1 {
 public:
  GemmOf1x1(const GraphIndex& index, const Fusion& fusion)
      : shape_(index, fusion), steps_(*tile_steps_of(fusion.epilogue)) {
    weights_.pack(index.host(),
                  {1, shape_.output_channels(), shape_.input_channels(),
                   index.value(fusion.weights).constant()->data, fusion.epilogue.scale},
                  /*channels_innermost=*/false);
    weights_.set_bias(folded_bias(index, fusion, shape_.output_channels()), 1,
                      shape_.output_channels());
  }

  [[nodiscard]] const ConvShape& shape() const { return shape_; }

  /// `source`: [pixels, input channels]; `addend` (null: there is none), `target`: [pixels, output
  /// channels].
  void multiply(const float* source, const float* addend, float* target, int64_t pixels) const {
    const Grouped1x1 product{1,
                             shape_.input_channels(),
                             shape_.output_channels(),
                             weights_.numbers(),
                             weights_.bias(),
                             &steps_};
    multiply_groups(product, source, addend, target, pixels);
  }

 private:
  ConvShape shape_;
  std::vector<TileStep> steps_;
  ChannelWeights weights_;
};

class DepthwiseBlockKernel final : public sdk::Kernel {
 public:
  DepthwiseBlockKernel(const KernelArgs& args, const DepthwiseBlock& block)
      : slots_(args),
        shape_(args.index, block.depthwise),
        steps_(*tile_steps_of(block.depthwise.epilogue)) {
    const GraphIndex& index = args.index;
    if (block.expansion) expansion_.emplace(index, *block.expansion);
    if (block.projection) projection_.emplace(index, *block.projection);
    const int64_t channels = shape_.output_channels();
    weights_.pack(
        index.host(),
        {1, channels, shape_.products(), index.value(block.depthwise.weights).constant()->data,
         block.depthwise.epilogue.scale},
        /*channels_innermost=*/true);
    weights_.set_bias(folded_bias(index, block.depthwise, channels), 1, channels);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<ConvPlan>>();
  }

  void run(sdk::Call& call) const override {
    const ConvShape& first = expansion_ ? expansion_->shape() : shape_;
    const auto make = [&](const sdk::Shape& input) {
      Dims between(input.data, input.data + input.rank);
      between[1] = channels();
      ConvPlan plan(shape_, {between.data(), input.rank});
      plan.input[1] = input[1];
      plan.output[1] = result_channels();
      return plan;
    };
    run_convolution<ConvPlan>(call, first, slots_, make,
                              [&](const ConvPlan& plan) { compute(call, plan); });
  }

 private:
  static constexpr int64_t kMostWindowRows = 16;

  /// Channels of the intermediate tensors.
  [[nodiscard]] int64_t channels() const { return shape_.output_channels(); }
  [[nodiscard]] int64_t result_channels() const {
    return projection_ ? projection_->shape().output_channels() : channels();
  }
  /// Rows of the source under a window.
  [[nodiscard]] int64_t span() const {
    return (shape_.window.kernel[0] - 1) * shape_.window.dilations[0] + 1;
  }

  void compute(sdk::Call& call, const ConvPlan& plan) const {
    const int64_t rows = plan.output[0] * plan.output[2];
    const int64_t part = (rows + call.thread_count() - 1) / call.thread_count();
    const int64_t parts = (rows + part - 1) / part;
    const int64_t ring = expansion_ ? span() * plan.input[3] * channels() : 0;
    const int64_t line = projection_ ? plan.output[3] * channels() : 0;
    float* scratch = call.scratch<float>((ring + line) * parts);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      const FlushDenormals flush;
      for (int64_t p = begin; p < end; ++p) {
        float* own = scratch + p * (ring + line);
        make_rows(plan, p * part, std::min((p + 1) * part, rows), own, own + ring);
      }
    });
  }

  /// Rows [begin, end) of the result. `ring`: memory for the rows under a window, if there is an
  /// expansion; `line`: for a row of results, if there is a projection.
  void make_rows(const ConvPlan& plan, int64_t begin, int64_t end, float* ring, float* line) const {
    const int64_t height = plan.input[2];
    const int64_t width = plan.input[3];
    const int64_t source_row = width * plan.input[1];
    const Window& window = shape_.window;
    const DepthwiseWindow seen{channels(),         window.kernel[0],    window.kernel[1],
                               window.strides[1],  window.dilations[1], plan.placed.pads_begin[1],
                               weights_.numbers(), weights_.bias(),     &steps_};
    RowRing expanded(ring, span(), width * channels());
    for (int64_t row = begin; row < end; ++row) {
      const int64_t n = row / plan.output[2];
      const int64_t first = row % plan.output[2] * window.strides[0] - plan.placed.pads_begin[0];
      const float* image = plan.source_floats() + n * height * source_row;
      std::array<const float*, kMostWindowRows> rows{};
      for (int64_t k = 0; k < window.kernel[0]; ++k) {
        const int64_t y = first + k * window.dilations[0];
        if (y < 0 || y >= height) continue;
        rows[static_cast<size_t>(k)] =
            expansion_ ? expanded.row(n, y,
                                      [&](int64_t at, float* target) {
                                        expansion_->multiply(image + at * source_row, nullptr,
                                                             target, width);
                                      })
                       : image + y * source_row;
      }
      const int64_t offset = row * plan.output[3] * result_channels();
      float* target = plan.target_floats() + offset;
      convolve_row(seen, rows.data(), width, nullptr, projection_ ? line : target, plan.output[3]);
      if (!projection_) continue;
      const float* addend = plan.addend_floats();
      projection_->multiply(line, addend ? addend + offset : nullptr, target, plan.output[3]);
    }
  }

  ConvSlots slots_;
  ConvShape shape_;  // of the depthwise convolution
  std::vector<TileStep> steps_;
  ChannelWeights weights_;
  std::optional<GemmOf1x1> expansion_;
  std::optional<GemmOf1x1> projection_;
};

}  // namespace

std::unique_ptr<Fusion> match_depthwise_block(const MatchScope& scope, uint32_t root) {
  const auto fusion_of_conv = [&](uint32_t node) -> std::optional<Fusion> {
    if (!scope.may_fuse(node) || !sdk::is_operator(scope.index(), node, "Conv"))
      return std::nullopt;
    return *match_conv(scope, node);
  };
  auto block = depthwise_block_at(scope.index(), root, fusion_of_conv);
  if (!block) return nullptr;
  auto fusion = std::make_unique<DepthwiseBlockFusion>();
  static_cast<Fusion&>(*fusion) = block->whole();
  fusion->block = std::move(*block);
  return fusion;
}

std::span<const Implementation> depthwise_block_implementations(const Fusion&) {
  static constexpr Implementation kAll[] = {
      {"row by row", [](const KernelArgs& args) {
         return made<DepthwiseBlockKernel>(
             args, static_cast<const DepthwiseBlockFusion&>(args.fusion).block);
       }}};
  return kAll;
}

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// Conv (ai.onnx 1, 11, 22) in f32 with one or two spatial axes and few channels whose tensors are
// all NCHW. oneDNN would compute it channels-last and reorder the result.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "conv/conv_shape.h"
#include "conv/direct/channel_weights.h"
#include "conv/direct/nchw.h"
#include "conv/implementations.h"
#include "fuse/kernels.h"
#include "onednn/plan.h"
#include "options.h"

namespace gantry::x86 {
namespace {

// With more channels oneDNN is faster even with the reorder.
constexpr int64_t kMostChannels = 8;
constexpr int64_t kMostProducts = 160;  // multiply-adds of an output element

/// One shape of input.
struct NchwPlan {
  Dims output;
  bool is_empty = false;
  NchwWindow window;
  std::optional<NchwRows> rows;
};

class NchwConvKernel final : public sdk::Kernel {
 public:
  NchwConvKernel(const KernelArgs& args, ConvShape shape, std::vector<TileStep> steps)
      : shape_(std::move(shape)), steps_(std::move(steps)), slots_(args) {
    const Fusion& fusion = args.fusion;
    const int64_t results = shape_.output_channels();
    weights_.pack(args.index.host(),
                  {1, results, shape_.products(), args.index.value(fusion.weights).constant()->data,
                   fusion.epilogue.scale},
                  false);
    weights_.set_bias(folded_bias(args.index, fusion, results), 1, results);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<NchwPlan>>();
  }

  void run(sdk::Call& call) const override {
    auto& cache = static_cast<PlanCache<NchwPlan>&>(*call.context());
    const sdk::Shape input = call.shape(slots_.source);
    shape_.check_input(input);
    cache.key.assign(input.data, input.data + input.rank);
    const NchwPlan& plan = cache.get([&] {
      return make_plan({input.data, input.data + input.rank});
    });
    gantry_tensor& target = call.output(slots_.target, GANTRY_FLOAT,
                                        {plan.output.data(), static_cast<int>(plan.output.size())});
    if (plan.is_empty) return;
    const float* addend = nullptr;
    if (slots_.addend >= 0) {
      shape_.check_addend(call.shape(slots_.addend), sdk::Shape(target));
      addend = call.data<float>(slots_.addend);
    }
    convolve(call, plan, call.data<float>(slots_.source), addend, static_cast<float*>(target.data));
  }

 private:
  [[nodiscard]] NchwPlan make_plan(const Dims& input) const {
    const Window& window = shape_.window;
    const Window::Placed placed = window.place({input.begin() + 2, input.end()});
    NchwPlan plan;
    plan.output = shape_.output_of(input, placed);
    for (int64_t& extent : plan.output) extent = std::max<int64_t>(extent, 0);
    plan.is_empty = std::count(plan.output.begin(), plan.output.end(), 0) > 0;
    if (plan.is_empty) return plan;
    NchwWindow& seen = plan.window;
    seen.channels = shape_.input_channels();
    seen.results = shape_.output_channels();
    seen.weights = weights_.numbers();
    seen.bias = weights_.bias();
    seen.steps = &steps_;
    const size_t rank = shape_.spatial_rank();
    for (size_t i = 0; i < rank; ++i) {
      const size_t axis = 2 - rank + i;
      seen.window[axis] = window.kernel[i];
      seen.strides[axis] = window.strides[i];
      seen.dilations[axis] = window.dilations[i];
      seen.pads[axis] = placed.pads_begin[i];
      seen.source[axis] = input[i + 2];
      seen.target[axis] = plan.output[i + 2];
    }
    plan.rows.emplace(seen);
    return plan;
  }

  /// A task is a block of channels of a strip of rows. Tasks are ordered strip by strip, so that a
  /// thread prepares the rows of a strip once for all its blocks.
  void convolve(sdk::Call& call, const NchwPlan& plan, const float* source, const float* addend,
                float* target) const {
    constexpr int64_t kProductsPerThread = 1 << 17;
    const NchwWindow& w = plan.window;
    const NchwRows& rows = *plan.rows;
    const int64_t plane = w.target[0] * w.target[1];
    const int64_t strips = (w.target[0] + rows.strip() - 1) / rows.strip();
    const int64_t blocks = blocks_of(w.results);
    const int64_t tasks = plan.output[0] * strips * blocks;
    const int64_t products = plan.output[0] * plane * w.results * w.inner();
    const int64_t parts = std::min(
        {tasks, 1 + products / kProductsPerThread, static_cast<int64_t>(call.thread_count())});
    auto* scratch = call.scratch<float>(parts * rows.elements());
    const sdk::Span span = call.span("nchw");
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      const FlushDenormals flush;
      float* numbers = scratch + begin * rows.elements();
      int64_t prepared = -1;
      for (int64_t task = begin * tasks / parts; task < end * tasks / parts; ++task) {
        const int64_t image = task / blocks / strips;
        const int64_t first = task / blocks % strips * rows.strip();
        const int64_t count = std::min(rows.strip(), w.target[0] - first);
        if (task / blocks != prepared) {
          rows.prepare(source + image * w.channels * w.source[0] * w.source[1], first, count,
                       numbers);
        }
        prepared = task / blocks;
        const int64_t block = task % blocks;
        const int64_t offset = (image * w.results + block * kChannelBlock) * plane;
        for (int64_t y = 0; y < count; ++y) {
          const int64_t at = offset + (first + y) * w.target[1];
          convolve_nchw_row(w, rows.offsets().data(), block, numbers + y * rows.step(),
                            addend ? addend + at : nullptr, target + at);
        }
      }
    });
  }

  ConvShape shape_;
  std::vector<TileStep> steps_;
  ConvSlots slots_;
  ChannelWeights weights_;
};

}  // namespace

Made make_nchw_conv(const KernelArgs& args) {
  const Fusion& fusion = args.fusion;
  if (fusion.rounds_to_bf16) return refuse("it is bf16");
  if (fusion.shuffle) return refuse("a channel shuffle is fused");
  const Options::Winograd winograd = args.options.winograd;
  if (winograd == Options::Winograd::k2 || winograd == Options::Winograd::k4)
    return refuse("the options ask for Winograd");
  const ConvSlots slots(args);
  if (slots.source_is_formatted || slots.target_is_formatted || slots.addend_is_formatted)
    return refuse("a tensor is channels-last");
  ConvShape shape(args.index, fusion);
  if (shape.groups != 1) return refuse("it has groups");
  if (shape.spatial_rank() > 2) return refuse("it has three spatial axes");
  if (shape.input_channels() > kMostChannels || shape.products() > kMostProducts)
    return refuse("it has many channels");
  auto steps = tile_steps_of(fusion.epilogue);
  if (!steps) return refuse("no code for a step of the epilogue");
  return made<NchwConvKernel>(args, std::move(shape), std::move(*steps));
}

}  // namespace gantry::x86

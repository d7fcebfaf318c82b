// SPDX-License-Identifier: Apache-2.0
// Conv (ai.onnx 1, 11, 22) in f32 with few channels per group, where oneDNN is slow: 2-D grouped
// 1x1; depthwise, 1-D or 2-D (with a channel shuffle before it); and 2-D with at most 4 input
// channels, which oneDNN reorders first, on one thread. The result is channels-last. Threads divide
// the rows of the image, so that a row stays in the cache of one core from kernel to kernel.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "conv/conv_run.h"
#include "conv/direct/channel_weights.h"
#include "conv/direct/code.h"
#include "conv/direct/row_ring.h"
#include "conv/implementations.h"
#include "fuse/kernels.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kMostWindowRows = 16;
constexpr int64_t kMostNarrowChannels = 4;
constexpr int64_t kMostNarrowTaps = 9;  // at 7 x 7 oneDNN is as fast

/// A convolution that this implementation runs.
struct Form : ConvShape {
  enum class Kind : uint8_t { kPixel, kDepthwise, kNarrow } kind = Kind::kPixel;
  std::vector<TileStep> steps;

  using ConvShape::ConvShape;

  /// Channels of a group in the source, and in the target.
  [[nodiscard]] int64_t inner() const { return weights[1]; }
  [[nodiscard]] int64_t columns() const { return weights[0] / groups; }

  // A tensor with one spatial axis is an image of one row.

  [[nodiscard]] bool is_line() const { return spatial_rank() == 1; }
  [[nodiscard]] int64_t window_rows() const { return is_line() ? 1 : window.kernel[0]; }
  [[nodiscard]] int64_t row_stride() const { return is_line() ? 1 : window.strides[0]; }
  [[nodiscard]] int64_t row_dilation() const { return is_line() ? 1 : window.dilations[0]; }
  [[nodiscard]] int64_t rows_before(const ConvPlan& plan) const {
    return is_line() ? 0 : plan.placed.pads_begin[0];
  }
  /// Rows of an image, source or target.
  [[nodiscard]] int64_t rows_of(const Dims& image) const { return is_line() ? 1 : image[2]; }
};

// Sets form.kind. False if this implementation does not run the convolution.
bool set_kind(Form& form) {
  const auto is_all = [](const Dims& list, int64_t number) {
    return std::all_of(list.begin(), list.end(), [=](int64_t x) { return x == number; });
  };
  const Window& window = form.window;
  if (form.groups == 1) {
    form.kind = Form::Kind::kNarrow;
    return !form.is_line() && window.kernel[0] * window.kernel[1] <= kMostNarrowTaps &&
           form.inner() <= kMostNarrowChannels;
  }
  if (form.inner() == 1 && form.columns() == 1) {
    form.kind = Form::Kind::kDepthwise;
    return form.window_rows() <= kMostWindowRows;
  }
  form.kind = Form::Kind::kPixel;
  return !form.is_line() && is_all(window.kernel, 1) && is_all(window.strides, 1) &&
         is_all(window.pads_begin, 0) && is_all(window.pads_end, 0);
}

std::optional<Form> form_of(const GraphIndex& index, const Fusion& fusion) {
  if (index.node(fusion.root).op_type() != "Conv" || fusion.is_quantized()) return std::nullopt;
  Form form(index, fusion);
  if (!form.fault.empty() || form.spatial_rank() > 2 || !set_kind(form)) return std::nullopt;
  auto steps = tile_steps_of(fusion.epilogue);
  if (!steps) return std::nullopt;
  form.steps = std::move(*steps);
  return form;
}

class DirectConvKernel final : public sdk::Kernel {
 public:
  DirectConvKernel(const KernelArgs& args, Form form)
      : form_(std::move(form)),
        fusion_(args.fusion),
        shuffle_groups_(fusion_.shuffle ? fusion_.shuffle->groups : 1),
        slots_(args) {
    slots_.source_takes_any_order = form_.kind == Form::Kind::kNarrow;
    pack(args.index);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<ConvPlan>>();
  }

  void run(sdk::Call& call) const override {
    const auto make = [&](const sdk::Shape& input) { return ConvPlan(form_, input); };
    run_convolution<ConvPlan>(call, form_, slots_, make, [&](const ConvPlan& plan) {
      if (form_.kind == Form::Kind::kPixel) {
        multiply(call, plan);
      } else {
        convolve(call, plan);
      }
    });
  }

 private:
  static constexpr int64_t kMultipliesPerTask = 1 << 17;

  void multiply(sdk::Call& call, const ConvPlan& plan) const {
    constexpr int64_t kPixelsPerItem = 8;
    const Grouped1x1 product{form_.groups,       form_.inner(),   form_.columns(),
                             weights_.numbers(), weights_.bias(), &form_.steps};
    const int64_t pixels = plan.input[0] * plan.input[2] * plan.input[3];
    const float* source = plan.source_floats();
    const float* addend = plan.addend_floats();
    float* target = plan.target_floats();
    const int64_t grain =
        1 + kMultipliesPerTask / (kPixelsPerItem * form_.output_channels() * form_.inner());
    call.parallel_for((pixels + kPixelsPerItem - 1) / kPixelsPerItem, grain,
                      [&](int64_t begin, int64_t end) {
                        const FlushDenormals flush;
                        const int64_t first = begin * kPixelsPerItem;
                        const int64_t count = std::min(end * kPixelsPerItem, pixels) - first;
                        const int64_t offset = first * form_.output_channels();
                        multiply_groups(product, source + first * form_.input_channels(),
                                        addend ? addend + offset : nullptr, target + offset, count);
                      });
  }

  void convolve(sdk::Call& call, const ConvPlan& plan) const {
    constexpr int64_t kCostOfElement = 6;  // cost of a depthwise multiply-add, with its loads
    constexpr int64_t kLeastOfLine = 16;   // results of a part of a line
    const bool is_depthwise = form_.kind == Form::Kind::kDepthwise;
    const int threads = call.thread_count();
    // If there are fewer lines than threads, lines are divided.
    const int64_t lines = plan.output[0] * form_.rows_of(plan.output);
    const int64_t width = plan.output.back();
    const int64_t pieces = form_.is_line()
                               ? std::clamp<int64_t>((threads + lines - 1) / lines, 1,
                                                     std::max<int64_t>(1, width / kLeastOfLine))
                               : 1;
    const int64_t products = width * form_.output_channels() * form_.window_rows() *
                             form_.window.kernel.back() / pieces *
                             (is_depthwise ? kCostOfElement : form_.inner());
    const int64_t rows = lines * pieces;
    const int64_t grain = 1 + kMultipliesPerTask / std::max<int64_t>(products, 1);
    const int64_t source_row = plan.input.back() * form_.input_channels();
    const int64_t held = form_.window_rows() * form_.row_dilation();
    const int64_t ring = shuffle_groups_ > 1 ? held * source_row : 0;
    // A ring of shuffled rows for each part. There are at most as many parts as threads.
    const int64_t part = std::max(grain, (rows + threads - 1) / threads);
    float* rings = ring > 0 ? call.scratch<float>(ring * ((rows + part - 1) / part)) : nullptr;
    call.parallel_for((rows + part - 1) / part, 1, [&](int64_t begin, int64_t end) {
      const FlushDenormals flush;
      for (int64_t p = begin; p < end; ++p) {
        RowMaker maker{*this, plan, {rings ? rings + p * ring : nullptr, held, source_row}};
        for (int64_t y = p * part; y < std::min((p + 1) * part, rows); ++y) {
          if (is_depthwise) {
            const int64_t piece = y % pieces;
            maker.make(y / pieces, piece * width / pieces, (piece + 1) * width / pieces);
          } else {
            make_narrow_row(plan, y);
          }
        }
      }
    });
  }

  void make_narrow_row(const ConvPlan& plan, int64_t row) const {
    const Window& window = form_.window;
    const int64_t height = plan.input[2];
    const int64_t width = plan.input[3];
    const int64_t channels = form_.inner();
    const int64_t pixel = slots_.source_is_formatted ? channels : 1;
    const int64_t plane = slots_.source_is_formatted ? 1 : height * width;
    const int64_t first = row % plan.output[2] * window.strides[0] - plan.placed.pads_begin[0];
    const float* source = plan.source_floats() + row / plan.output[2] * height * width * channels;
    std::array<const float*, kMostNarrowTaps * kMostNarrowChannels> rows{};
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t k = 0; k < window.kernel[0]; ++k) {
        const int64_t y = first + k * window.dilations[0];
        if (y < 0 || y >= height) continue;
        rows[static_cast<size_t>(c * window.kernel[0] + k)] =
            source + c * plane + y * width * pixel;
      }
    }
    const NarrowWindow seen{channels,
                            window.kernel[0],
                            window.kernel[1],
                            window.strides[1],
                            window.dilations[1],
                            plan.placed.pads_begin[1],
                            pixel,
                            form_.columns(),
                            weights_.numbers(),
                            weights_.bias(),
                            &form_.steps};
    const int64_t offset = row * plan.output[3] * form_.columns();
    const float* addend = plan.addend_floats();
    convolve_narrow_row(seen, rows.data(), width, addend ? addend + offset : nullptr,
                        plan.target_floats() + offset, plan.output[3]);
  }

  /// Computes consecutive rows of a depthwise convolution.
  struct RowMaker {
    const DirectConvKernel& kernel;
    const ConvPlan& plan;
    RowRing shuffled;  ///< source rows after the channel shuffle

    /// Computes results [begin, end) of a row.
    void make(int64_t row, int64_t begin, int64_t end) {
      const Form& form = kernel.form_;
      const Window& window = form.window;
      const int64_t height = form.rows_of(plan.input);
      const int64_t width = plan.input.back();
      const int64_t source_row = width * form.input_channels();
      const int64_t all = form.rows_of(plan.output);
      const int64_t n = row / all;
      const int64_t first = row % all * form.row_stride() - form.rows_before(plan);
      const float* source = plan.source_floats() + n * height * source_row;
      std::array<const float*, kMostWindowRows> rows{};
      for (int64_t k = 0; k < form.window_rows(); ++k) {
        const int64_t y = first + k * form.row_dilation();
        if (y < 0 || y >= height) continue;
        rows[static_cast<size_t>(k)] =
            kernel.shuffle_groups_ > 1
                ? shuffled.row(n, y,
                               [&](int64_t at, float* target) {
                                 shuffle_channels(source + at * source_row, target, width,
                                                  form.input_channels(), kernel.shuffle_groups_);
                               })
                : source + y * source_row;
      }
      // The window's padding is relative to result `begin`.
      const DepthwiseWindow seen{form.groups,
                                 form.window_rows(),
                                 window.kernel.back(),
                                 window.strides.back(),
                                 window.dilations.back(),
                                 plan.placed.pads_begin.back() - begin * window.strides.back(),
                                 kernel.weights_.numbers(),
                                 kernel.weights_.bias(),
                                 &form.steps};
      const int64_t offset = (row * plan.output.back() + begin) * form.output_channels();
      const float* addend = plan.addend_floats();
      convolve_row(seen, rows.data(), width, addend ? addend + offset : nullptr,
                   plan.target_floats() + offset, end - begin);
    }
  };

  void pack(const GraphIndex& index) {
    const sdk::ValueView constant = index.value(fusion_.weights);
    const void* numbers = constant.constant()->data;
    const bool is_depthwise = form_.kind == Form::Kind::kDepthwise;
    const int64_t taps = form_.window_rows() * form_.window.kernel.back();
    const int64_t groups = is_depthwise ? 1 : form_.groups;
    const int64_t columns = is_depthwise ? form_.groups : form_.columns();
    weights_.pack(index.host(),
                  {groups, columns, form_.inner() * taps, numbers, fusion_.epilogue.scale},
                  is_depthwise);
    weights_.set_bias(folded_bias(index, fusion_, form_.output_channels()), groups, columns);
  }

  Form form_;
  Fusion fusion_;
  int64_t shuffle_groups_;
  ConvSlots slots_;
  ChannelWeights weights_;
};

// True of a depthwise convolution that oneDNN runs as fast: whole vectors of channels, no dilation,
// a cheap epilogue, and known extents (oneDNN would compile code for each new size).
bool is_good_in_library(const Form& form, const sdk::ValueView& source) {
  for (int axis = 0; axis < source.rank(); ++axis) {
    if (source.extent(axis) < 0) return false;
  }
  const bool has_gaps = std::any_of(form.window.dilations.begin(), form.window.dilations.end(),
                                    [](int64_t dilation) { return dilation > 1; });
  const bool has_sigmoid =
      std::any_of(form.steps.begin(), form.steps.end(), [](const TileStep& step) {
        return step.kind == TileStep::Kind::kSigmoid || step.kind == TileStep::Kind::kSwish;
      });
  return !form.is_line() && form.groups % kChannelBlock == 0 && !has_gaps && !has_sigmoid;
}

}  // namespace

bool is_depthwise_here(const GraphIndex& index, const Fusion& fusion) {
  const auto form = form_of(index, fusion);
  return form && form->kind == Form::Kind::kDepthwise && !form->is_line();
}

Made make_direct_conv(const KernelArgs& args) {
  auto form = form_of(args.index, args.fusion);
  if (!form) return refuse("it is not f32 with groups or few channels");
  const sdk::ValueView source = args.index.value(args.fusion.sources[0].value);
  if (form->kind == Form::Kind::kDepthwise && !args.fusion.shuffle &&
      is_good_in_library(*form, source))
    return refuse("oneDNN is as fast at this depthwise convolution");
  return made<DirectConvKernel>(args, std::move(*form));
}

}  // namespace gantry::x86

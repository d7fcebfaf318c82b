// SPDX-License-Identifier: Apache-2.0
// Conv (ai.onnx 1, 11, 22) in f32 of one group with one or two spatial axes, one of them dynamic,
// as an implicit GEMM. In channels-last order each row of a window is contiguous, so that it is
// multiplied with a constant matrix in place, without im2col. oneDNN compiles code for each new
// size; this needs none.
#include <algorithm>
#include <utility>
#include <vector>

#include "conv/conv_run.h"
#include "conv/implementations.h"
#include "fuse/kernels.h"
#include "matmul/packed/layer.h"
#include "matmul/packed/panel_pass.h"
#include "onednn/threads.h"
#include "simd/blocking.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kFloat = sizeof(float);
constexpr int64_t kMultipliesPerTask = 1 << 18;

/// Extents and attributes of one spatial axis.
struct Axis {
  int64_t input = 1;
  int64_t output = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t padding = 0;  ///< before the input

  /// Extent of the padded input that `outputs` windows cover.
  [[nodiscard]] int64_t reach(int64_t outputs) const {
    return (outputs - 1) * stride + (kernel - 1) * dilation + 1;
  }
};

struct Image {
  int64_t count = 0;  ///< of images
  int64_t channels = 0;
  int64_t filters = 0;
  Axis y;  ///< of a 1-D convolution: the default
  Axis x;

  [[nodiscard]] int64_t result_count() const { return count * y.output * x.output * filters; }
  [[nodiscard]] bool is_padded() const {
    return y.padding > 0 || x.padding > 0 || y.reach(y.output) > y.input ||
           x.reach(x.output) > x.input;
  }
};

Image image_of(const ConvShape& shape, const ConvPlan& plan) {
  const Window& window = shape.window;
  const auto axis = [&](size_t i) {
    return Axis{plan.input[2 + i], plan.output[2 + i],  window.kernel[i],
                window.strides[i], window.dilations[i], plan.placed.pads_begin[i]};
  };
  const size_t rank = shape.spatial_rank();
  return {plan.input[0], shape.input_channels(), shape.output_channels(),
          rank == 2 ? axis(0) : Axis{}, axis(rank - 1)};
}

/// Division of a window into parts that are contiguous in the source: a row or, with horizontal
/// dilation, a pixel.
struct Taps {
  int64_t rows = 0;     ///< of the window
  int64_t columns = 0;  ///< parts of a row
  int64_t inner = 0;    ///< elements of a part

  explicit Taps(const Image& image)
      : rows(image.y.kernel),
        columns(image.x.dilation == 1 ? 1 : image.x.kernel),
        inner(image.channels * image.x.kernel / columns) {}
};

class ImplicitGemmKernel final : public sdk::Kernel {
 public:
  ImplicitGemmKernel(const KernelArgs& args, ConvShape shape)
      : shape_(std::move(shape)), slots_(args), epilogue_(args.fusion.epilogue) {
    const int64_t filters = shape_.output_channels();
    weights_.pack(
        args.index.host(), args.choices,
        {args.index.value(args.fusion.weights).constant()->data, shape_.products(), filters,
         /*is_transposed=*/true, args.fusion.epilogue.scale,
         /*taps=*/shape_.products() / shape_.input_channels()});
    bias_ = folded_bias(args.index, args.fusion, filters);
    bias_.resize(static_cast<size_t>(divided_up(filters, kPanelColumns) * kPanelColumns));
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<ConvPlan>>();
  }

  void run(sdk::Call& call) const override;

 private:
  class Run;

  ConvShape shape_;
  ConvSlots slots_;
  TileEpilogue epilogue_;
  PanelWeights weights_;
  std::vector<float> bias_;  // of whole panels
};

/// Tasks of a run. Rows of the result are divided into blocks whose input stays in the L2 cache
/// while it is multiplied by one panel after another. If there are fewer blocks than threads and
/// the matrix is not cached, panels are divided into groups too, so that threads read different
/// panels.
class ImplicitGemmKernel::Run {
 public:
  Run(const ImplicitGemmKernel& kernel, const Image& image, const ConvPlan& plan, sdk::Call& call)
      : kernel_(kernel),
        call_(call),
        image_(image),
        taps_(image),
        source_(plan.source_floats()),
        target_(plan.target_floats()),
        addend_(kernel.epilogue_.kept_addend(call, plan.addend_floats(), target_,
                                             image.result_count())),
        is_padded_(image.is_padded()),
        row_floats_((is_padded_ ? image.x.reach(image.x.output) : image.x.input) * image.channels),
        panels_(divided_up(image.filters, kPanelColumns)),
        pieces_(divided_up(image.x.output, matmul_code()->most_rows)) {
    const Axis& y = image.y;
    const int threads = call.thread_count();
    const int64_t cached_rows = second_cache_bytes() * 3 / 8 / (row_floats_ * kFloat);
    const int64_t most_rows = std::max<int64_t>(1, (cached_rows - y.reach(1)) / y.stride + 1);
    int64_t blocks = image.count * divided_up(y.output, most_rows);
    const int64_t matrix_bytes = kernel.shape_.products() * image.filters * kFloat;
    const bool is_cached = matrix_bytes <= second_cache_bytes() / 4;
    if (is_cached || blocks >= threads) blocks = divided_up(blocks, threads) * threads;
    block_rows_ = divided_up(y.output, std::min(y.output, divided_up(blocks, image.count)));
    blocks_of_image_ = divided_up(y.output, block_rows_);
    blocks_ = image.count * blocks_of_image_;
    groups_ = blocks_ >= threads ? 1 : std::min(panels_, divided_up(threads, blocks_));
  }

  void compute() const {
    const int64_t tasks = blocks_ * groups_;
    const int64_t products =
        block_rows_ * image_.x.output * image_.filters / groups_ * kernel_.shape_.products();
    const int64_t grain = std::max<int64_t>(1, kMultipliesPerTask / std::max<int64_t>(1, products));
    const int64_t part = std::max(grain, divided_up(tasks, call_.thread_count()));
    const int64_t room = is_padded_ ? image_.y.reach(block_rows_) * row_floats_ : 0;
    // Padded rows for each part. There are at most as many parts as threads.
    float* rooms = room > 0 ? call_.scratch<float>(room * divided_up(tasks, part)) : nullptr;
    call_.parallel_for(divided_up(tasks, part), 1, [&](int64_t begin, int64_t end) {
      const FlushDenormals flush;
      for (int64_t p = begin; p < end; ++p) {
        for (int64_t task = p * part; task < std::min((p + 1) * part, tasks); ++task)
          compute_block(task / groups_, task % groups_, rooms ? rooms + p * room : nullptr);
      }
    });
  }

 private:
  /// Rows of the result, and the start of the first row's operands.
  struct Block {
    int64_t image;
    int64_t first;
    int64_t rows;
    const float* source;
  };

  void compute_block(int64_t index, int64_t group, float* room) const {
    Block block{index / blocks_of_image_, index % blocks_of_image_ * block_rows_, 0, nullptr};
    block.rows = std::min(block_rows_, image_.y.output - block.first);
    const float* image = source_ + block.image * image_.y.input * image_.x.input * image_.channels;
    if (is_padded_) {
      fill(image, block, room);
      block.source = room;
    } else {
      block.source = image + block.first * image_.y.stride * row_floats_;
    }
    const int64_t last = (group + 1) * panels_ / groups_;
    for (int64_t panel = group * panels_ / groups_; panel < last; ++panel)
      multiply(block, panel, panel + 1 < last);
  }

  /// Copies the block's input rows with padding.
  void fill(const float* image, const Block& block, float* room) const {
    const Axis& x = image_.x;
    const int64_t channels = image_.channels;
    const int64_t width = row_floats_ / channels;
    const int64_t before = std::min(x.padding, width);
    const int64_t there = std::clamp<int64_t>(x.input, 0, width - before);
    const int64_t first = block.first * image_.y.stride - image_.y.padding;
    for (int64_t i = 0; i < image_.y.reach(block.rows); ++i, room += row_floats_) {
      const int64_t row = first + i;
      if (row < 0 || row >= image_.y.input) {
        std::fill_n(room, row_floats_, 0.0F);
        continue;
      }
      std::fill_n(room, before * channels, 0.0F);
      std::copy_n(image + row * x.input * channels, there * channels, room + before * channels);
      std::fill(room + (before + there) * channels, room + row_floats_, 0.0F);
    }
  }

  /// Computes the block's results of one panel, accumulating one part of the windows after the
  /// other.
  void multiply(const Block& block, int64_t panel, bool has_next) const {
    const TileEpilogue& epilogue = kernel_.epilogue_;
    const int64_t column = panel * kPanelColumns;
    const int64_t width = panel_width(image_.filters, column);
    const int64_t columns = std::min(width, image_.filters - column);
    const int64_t parts = taps_.rows * taps_.columns;
    for (int64_t part = 0; part < parts; ++part) {
      const bool is_last = part + 1 == parts;
      const std::byte* next = !is_last   ? weights_at(column, (part + 1) * taps_.inner)
                              : has_next ? weights_at(column + kPanelColumns, 0)
                                         : nullptr;
      PanelPass pass({weights_at(column, part * taps_.inner), kernel_.weights_.dtype(), taps_.inner,
                      width, columns, next},
                     {image_.x.stride * image_.channels, image_.filters, block.rows * pieces_});
      if (part == 0) pass.add_bias(kernel_.bias_.data() + column);
      if (is_last && epilogue.bounds()) pass.keep(*epilogue.bounds());
      const float* source = block.source + part / taps_.columns * image_.y.dilation * row_floats_ +
                            part % taps_.columns * image_.x.dilation * image_.channels;
      for (int64_t row = 0; row < block.rows; ++row) {
        multiply_row(pass, source + row * image_.y.stride * row_floats_,
                     offset_of(block, row) + column, part == 0);
      }
    }
    if (!epilogue.is_finished_later()) return;
    for (int64_t row = 0; row < block.rows; ++row)
      finish_row(offset_of(block, row) + column, columns);
  }

  void multiply_row(PanelPass& pass, const float* source, int64_t offset, bool is_first) const {
    for (int64_t piece = 0; piece < pieces_; ++piece) {
      const int64_t x = piece * image_.x.output / pieces_;
      const int64_t pixels = (piece + 1) * image_.x.output / pieces_ - x;
      const int64_t at = offset + x * image_.filters;
      const float* initial = !is_first                        ? target_ + at
                             : kernel_.epilogue_.adds_first() ? addend_ + at
                                                              : nullptr;
      pass.multiply(pixels, source + x * image_.x.stride * image_.channels, initial, target_ + at);
    }
  }

  void finish_row(int64_t offset, int64_t columns) const {
    for (int64_t x = 0; x < image_.x.output; ++x, offset += image_.filters)
      kernel_.epilogue_.finish(target_ + offset, addend_ ? addend_ + offset : nullptr, columns);
  }

  [[nodiscard]] const std::byte* weights_at(int64_t column, int64_t inner) const {
    return kernel_.weights_.panel(column, inner);
  }
  /// Index of a row's first result in the target.
  [[nodiscard]] int64_t offset_of(const Block& block, int64_t row) const {
    return ((block.image * image_.y.output + block.first + row) * image_.x.output) * image_.filters;
  }

  const ImplicitGemmKernel& kernel_;
  sdk::Call& call_;
  Image image_;
  Taps taps_;
  const float* source_;
  float* target_;
  const float* addend_;
  bool is_padded_;
  int64_t row_floats_;  ///< floats of an input row, padded or not
  int64_t panels_;
  int64_t pieces_;  ///< tiles of a row
  int64_t block_rows_ = 0;
  int64_t blocks_of_image_ = 0;
  int64_t blocks_ = 0;
  int64_t groups_ = 1;
};

void ImplicitGemmKernel::run(sdk::Call& call) const {
  const auto make = [&](const sdk::Shape& input) { return ConvPlan(shape_, input); };
  run_convolution<ConvPlan>(call, shape_, slots_, make, [&](const ConvPlan& plan) {
    Run(*this, image_of(shape_, plan), plan, call).compute();
  });
}

}  // namespace

Made make_implicit_gemm_conv(const KernelArgs& args) {
  const Fusion& fusion = args.fusion;
  if (fusion.rounds_to_bf16) return refuse("it is bf16");
  if (fusion.shuffle) return refuse("a channel shuffle is fused");
  if (!has_dynamic_size(args.index.value(fusion.sources[0].value)))
    return refuse("the model says how large the image is: code for that size is as fast");
  ConvShape shape(args.index, fusion);
  if (!shape.fault.empty() || shape.groups > 1 || shape.spatial_rank() > 2)
    return refuse("it is grouped or over three axes");
  // Over one axis mostly empty panels cost less than code for each new length.
  if (!matmul_code() ||
      (shape.spatial_rank() == 2 && !PackedMatMul::takes(shape.output_channels())))
    return refuse("panels would be mostly empty, or the CPU has no code for it");
  if (!matmul_epilogue_of(fusion.epilogue)) return refuse("no code for a step of the epilogue");
  return made<ImplicitGemmKernel>(args, std::move(shape));
}

}  // namespace gantry::x86

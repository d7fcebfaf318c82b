// SPDX-License-Identifier: Apache-2.0
// ConvTranspose (ai.onnx 1, 11, 22) in f32 of one group over one or two spatial axes, as an
// implicit GEMM.
//
// With stride s, position s * i + p of an unpadded row of the result sums x[i - t] * w[p + s * t]
// over the taps t of phase p. So for all p at once it is a convolution of stride 1 with s * O
// filters, and in channels-last order its position i is positions s * i to s * i + s - 1 of the
// result, side by side. Its inputs are contiguous, too: they are multiplied in place. Padding cuts
// positions off at both ends. Over two axes a row of the result is the sum of such rows. oneDNN
// prepares code for each position, in seconds for a long axis; this needs none.
#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "conv/conv_shape.h"
#include "conv/conv_transpose_shape.h"
#include "conv/implementations.h"
#include "fuse/constants.h"
#include "matmul/packed/layer.h"
#include "matmul/packed/panel_pass.h"
#include "onednn/threads.h"
#include "simd/axis_order.h"
#include "simd/blocking.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kMultipliesPerBlock = 1 << 20;

/// Attributes of one spatial axis.
struct TransposedAxis {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t skipped = 0;  ///< positions of the unpadded result before the first one

  /// Of a phase.
  [[nodiscard]] int64_t taps() const { return divided_up(kernel, stride); }
};

/// What the kernel multiplies: positions of `columns()` elements from x.taps() positions of each
/// input row, which has a matrix for each row of the window.
struct Phases {
  int64_t inputs = 0;   ///< channels
  int64_t outputs = 0;  ///< channels
  TransposedAxis y;     ///< over one axis: the default
  TransposedAxis x;

  explicit Phases(const ConvTransposeShape& shape)
      : inputs(shape.input_channels()), outputs(shape.output_channels()) {
    const auto axis = [&](size_t i) {
      const Window& window = shape.window;
      return TransposedAxis{window.kernel[i], window.strides[i], window.pads_begin[i]};
    };
    if (shape.spatial_rank() == 2) y = axis(0);
    x = axis(shape.spatial_rank() - 1);
  }

  [[nodiscard]] int64_t inner() const { return x.taps() * inputs; }  ///< of one matrix
  [[nodiscard]] int64_t columns() const { return x.stride * outputs; }
};

/// The matrices [y.kernel, x.taps(), inputs, x.stride, outputs], the oldest input first, of weights
/// [inputs, outputs, y.kernel, x.kernel]. Taps beyond the kernel are zeros.
std::vector<float> matrices_of(const Phases& phases, const std::byte* weights) {
  const int64_t columns = phases.columns();
  std::vector<float> all(static_cast<size_t>(phases.y.kernel * phases.inner() * columns), 0);
  std::vector<float> line(static_cast<size_t>(phases.x.kernel));
  const size_t bytes = line.size() * sizeof(float);
  for (int64_t filter = 0; filter < phases.inputs * phases.outputs; ++filter) {
    const int64_t input = filter / phases.outputs;
    const int64_t output = filter % phases.outputs;
    for (int64_t y = 0; y < phases.y.kernel; ++y, weights += bytes) {
      std::memcpy(line.data(), weights, bytes);  // of any alignment
      for (int64_t k = 0; k < phases.x.kernel; ++k) {
        const int64_t tap = phases.x.taps() - 1 - k / phases.x.stride;
        const int64_t row = y * phases.inner() + tap * phases.inputs + input;
        const int64_t column = k % phases.x.stride * phases.outputs + output;
        all[static_cast<size_t>(row * columns + column)] = line[static_cast<size_t>(k)];
      }
    }
  }
  return all;
}

/// `by_channel` for each phase.
std::vector<float> repeated(const std::vector<float>& by_channel, int64_t phases) {
  std::vector<float> all;
  for (int64_t p = 0; p < phases; ++p) all.insert(all.end(), by_channel.begin(), by_channel.end());
  return all;
}

class ImplicitGemmTransposeKernel final : public sdk::Kernel {
 public:
  ImplicitGemmTransposeKernel(const KernelArgs& args, ConvTransposeShape shape)
      : shape_(std::move(shape)), phases_(shape_), slots_(args), epilogue_(args.fusion.epilogue) {
    const auto* weights =
        static_cast<const std::byte*>(args.index.value(args.fusion.weights).constant()->data);
    const std::vector<float> matrices = matrices_of(phases_, weights);
    weights_.pack(
        args.index.host(), args.choices,
        {matrices.data(), phases_.y.kernel * phases_.inner(), phases_.columns(),
         /*is_transposed=*/false, repeated(args.fusion.epilogue.scale, phases_.x.stride)});
    bias_ = repeated(folded_bias(args.index, args.fusion, phases_.outputs), phases_.x.stride);
    bias_.resize(static_cast<size_t>(divided_up(phases_.columns(), kPanelColumns) * kPanelColumns));
  }

  void run(sdk::Call& call) const override;

 private:
  class Run;

  ConvTransposeShape shape_;
  Phases phases_;
  ConvSlots slots_;
  TileEpilogue epilogue_;
  PanelWeights weights_;
  std::vector<float> bias_;  // of whole panels
};

/// A run with channels-last tensors: source [images, height, width, inputs], target and addend
/// [images, result height, result width, outputs].
class ImplicitGemmTransposeKernel::Run {
 public:
  struct Size {
    int64_t height = 1;
    int64_t width = 0;
  };
  struct Tensors {
    const float* source = nullptr;
    const float* addend = nullptr;  ///< null: nothing is added
    float* target = nullptr;
    int64_t images = 0;
    Size input;
    Size result;
  };

  Run(const ImplicitGemmTransposeKernel& kernel, const Tensors& tensors, sdk::Call& call)
      : kernel_(kernel),
        phases_(kernel.phases_),
        tensors_(tensors),
        call_(call),
        addend_(kernel.epilogue_.kept_addend(
            call, tensors.addend, tensors.target,
            tensors.images * tensors.result.height * tensors.result.width * phases_.outputs)),
        first_(phases_.x.skipped / phases_.x.stride),
        end_(divided_up(phases_.x.skipped + tensors.result.width, phases_.x.stride)),
        lines_(tensors.images * tensors.result.height) {
    // Inputs and results of a block stay in the L2 cache while panel after panel is multiplied.
    const int64_t bytes = (phases_.inputs + phases_.columns()) * int64_t{sizeof(float)};
    const int64_t cached = std::max<int64_t>(second_cache_bytes() / 2 / bytes, 1);
    const int64_t whole = std::max<int64_t>(
        1, kMultipliesPerBlock / std::max<int64_t>(1, phases_.inner() * phases_.columns()));
    const int64_t share = divided_up((end_ - first_) * lines_, call.thread_count());
    const int64_t most = std::clamp(share, whole, std::max(cached, whole));
    blocks_ = divided_up(end_ - first_, most);
    positions_ = divided_up(end_ - first_, blocks_);
    blocks_ = divided_up(end_ - first_, positions_);
  }

  void compute() const {
    const int64_t tasks = lines_ * blocks_;
    const int64_t parts = std::min<int64_t>(tasks, call_.thread_count());
    const int64_t room = source_room() + positions_ * phases_.columns();
    float* rooms = call_.scratch<float>(room * parts);  // for each part: there are no more threads
    call_.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      const FlushDenormals flush;
      for (int64_t part = begin; part < end; ++part) {
        for (int64_t task = part * tasks / parts; task < (part + 1) * tasks / parts; ++task)
          compute_block(task / blocks_, task % blocks_, rooms + part * room);
      }
    });
  }

 private:
  /// Positions of the products for one row of the result.
  struct Block {
    int64_t first = 0;
    int64_t count = 0;
    float* results = nullptr;        ///< [count, columns]
    const float* initial = nullptr;  ///< of the first product; null: zeros
  };

  [[nodiscard]] int64_t source_room() const {
    return (positions_ + phases_.x.taps() - 1) * phases_.inputs;
  }

  // `line`: a row of the result of all images.
  void compute_block(int64_t line, int64_t number, float* room) const {
    Block block;
    block.first = first_ + number * positions_;
    block.count = std::min(positions_, end_ - block.first);
    const int64_t outputs = phases_.outputs;
    float* target = tensors_.target + line * tensors_.result.width * outputs;
    const float* addend = addend_ ? addend_ + line * tensors_.result.width * outputs : nullptr;
    // Positions of the result, of which the first and the last block may have some outside.
    const int64_t begin = block.first * phases_.x.stride - phases_.x.skipped;
    const int64_t end = begin + block.count * phases_.x.stride;
    const int64_t kept_begin = std::max<int64_t>(begin, 0);
    const int64_t kept_end = std::min(end, tensors_.result.width);
    const bool is_whole = begin == kept_begin && end == kept_end;
    const int64_t kept = (kept_end - kept_begin) * outputs;
    const int64_t cut = (kept_begin - begin) * outputs;
    block.results = is_whole ? target + begin * outputs : room + source_room();
    if (kernel_.epilogue_.adds_first()) {
      if (!is_whole) {
        std::fill_n(block.results, block.count * phases_.columns(), 0.0F);
        std::copy_n(addend + kept_begin * outputs, kept, block.results + cut);
      }
      block.initial = is_whole ? addend + begin * outputs : block.results;
    }
    multiply_rows(block, line, room);
    float* results = target + kept_begin * outputs;
    if (!is_whole) std::copy_n(block.results + cut, kept, results);
    if (!kernel_.epilogue_.is_finished_later()) return;
    for (int64_t i = 0; i < kept; i += TileEpilogue::kMostColumns) {
      kernel_.epilogue_.finish(results + i, addend ? addend + kept_begin * outputs + i : nullptr,
                               std::min(TileEpilogue::kMostColumns, kept - i));
    }
  }

  /// Sums the products of the input rows that reach a row of the result.
  void multiply_rows(Block block, int64_t line, float* room) const {
    const TransposedAxis& y = phases_.y;
    const int64_t image = line / tensors_.result.height;
    const int64_t row = line % tensors_.result.height + y.skipped;  // of the unpadded result
    const int64_t last = std::min(row / y.stride, tensors_.input.height - 1);
    // The window's row of input row i is row - i * stride, which must be less than the kernel.
    const int64_t first = row < y.kernel ? 0 : (row - y.kernel) / y.stride + 1;
    if (first > last) {  // no input reaches the row: the bias alone
      std::fill_n(room, source_room(), 0.0F);
      return multiply(block, room, 0, true, true);
    }
    for (int64_t i = first; i <= last; ++i) {
      const float* source = tensors_.source + (image * tensors_.input.height + i) *
                                                  tensors_.input.width * phases_.inputs;
      multiply(block, source_of(source, block, room), row - i * y.stride, i == first, i == last);
      block.initial = block.results;
    }
  }

  /// The inputs of the block's positions: in place, or a copy with zeros where there are none.
  const float* source_of(const float* source, const Block& block, float* room) const {
    const int64_t width = tensors_.input.width;
    const int64_t begin = block.first - (phases_.x.taps() - 1);
    const int64_t end = block.first + block.count;
    if (begin >= 0 && end <= width) return source + begin * phases_.inputs;
    const int64_t there_begin = std::clamp<int64_t>(begin, 0, width);
    const int64_t there_end = std::clamp<int64_t>(end, there_begin, width);
    std::fill_n(room, (end - begin) * phases_.inputs, 0.0F);
    std::copy_n(source + there_begin * phases_.inputs, (there_end - there_begin) * phases_.inputs,
                room + (there_begin - begin) * phases_.inputs);
    return room;
  }

  /// `matrix`: the row of the window.
  void multiply(const Block& block, const float* source, int64_t matrix, bool is_first,
                bool is_last) const {
    const int64_t columns = phases_.columns();
    const int64_t inner = matrix * phases_.inner();
    const int64_t pieces = divided_up(block.count, matmul_code()->most_rows);
    const float* initial = is_first ? block.initial : block.results;
    for (int64_t column = 0; column < columns; column += kPanelColumns) {
      const int64_t width = panel_width(columns, column);
      const int64_t next = column + kPanelColumns;
      PanelPass pass({kernel_.weights_.panel(column, inner), kernel_.weights_.dtype(),
                      phases_.inner(), width, std::min(width, columns - column),
                      next < columns ? kernel_.weights_.panel(next, inner) : nullptr},
                     {phases_.inputs, columns, pieces});
      if (is_first) pass.add_bias(kernel_.bias_.data() + column);
      if (is_last && kernel_.epilogue_.bounds()) pass.keep(*kernel_.epilogue_.bounds());
      for (int64_t piece = 0; piece < pieces; ++piece) {
        const int64_t from = piece * block.count / pieces;
        const int64_t to = (piece + 1) * block.count / pieces;
        const int64_t at = from * columns + column;
        pass.multiply(to - from, source + from * phases_.inputs, initial ? initial + at : nullptr,
                      block.results + at);
      }
    }
  }

  const ImplicitGemmTransposeKernel& kernel_;
  const Phases& phases_;
  Tensors tensors_;
  sdk::Call& call_;
  const float* addend_;
  int64_t first_;
  int64_t end_;            ///< [first_, end_): positions of the products for a row of the result
  int64_t lines_;          ///< rows of the result
  int64_t blocks_ = 0;     ///< of a row
  int64_t positions_ = 0;  ///< of a block
};

void ImplicitGemmTransposeKernel::run(sdk::Call& call) const {
  const sdk::Shape input = call.shape(slots_.source);
  shape_.check_input(input);
  Dims extents = shape_.output_of({input.data, input.data + input.rank});
  for (int64_t& extent : extents) extent = std::max<int64_t>(extent, 0);
  const sdk::Shape output(extents.data(), static_cast<int>(extents.size()));
  gantry_tensor& target = call.output(slots_.target, GANTRY_FLOAT, output);
  if (output.element_count() == 0) return;
  const auto ordered = [&](int slot, const sdk::Shape& shape, bool is_formatted) {
    return static_cast<const float*>(in_order(call, call.input(slot).data, shape,
                                              axis_order(is_formatted), AxisOrder::kChannelsLast,
                                              sizeof(float)));
  };
  const auto size_of = [](const sdk::Shape& shape) {
    return Run::Size{shape.rank == 4 ? shape[2] : 1, shape[shape.rank - 1]};
  };
  Run::Tensors tensors;
  tensors.source = ordered(slots_.source, input, slots_.source_is_formatted);
  if (slots_.addend >= 0) {
    shape_.check_addend(call.shape(slots_.addend), output);
    tensors.addend = ordered(slots_.addend, output, slots_.addend_is_formatted);
  }
  const ChannelsLastResult result(call, target.data, output, axis_order(slots_.target_is_formatted),
                                  sizeof(float));
  tensors.target = static_cast<float*>(result.data());
  tensors.images = input[0];
  tensors.input = size_of(input);
  tensors.result = size_of(output);
  Run(*this, tensors, call).compute();
  result.finish(call);
}

}  // namespace

Made make_implicit_gemm_conv_transpose(const KernelArgs& args) {
  const Fusion& fusion = args.fusion;
  if (fusion.is_quantized()) return refuse("it is int8");
  if (fusion.rounds_to_bf16) return refuse("it is bf16");
  ConvTransposeShape shape(args.index, fusion.root);
  if (!shape.fault.empty() || shape.spatial_rank() > 2) return refuse("it is over three axes");
  const Dims& dilations = shape.window.dilations;
  if (std::any_of(dilations.begin(), dilations.end(),
                  [](int64_t dilation) { return dilation > 1; }))
    return refuse("it is dilated");
  if (shape.spatial_rank() == 2 && !has_dynamic_size(args.index.value(fusion.sources[0].value)))
    return refuse("the model says how large the image is: code for that size is as fast");
  if (!PackedMatMul::takes(Phases(shape).columns()))
    return refuse("panels would be mostly empty, or the CPU has no code for it");
  if (!matmul_epilogue_of(fusion.epilogue)) return refuse("no code for a step of the epilogue");
  return made<ImplicitGemmTransposeKernel>(args, std::move(shape));
}

}  // namespace gantry::x86

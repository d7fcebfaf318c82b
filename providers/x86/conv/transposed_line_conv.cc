// SPDX-License-Identifier: Apache-2.0
// ConvTranspose (ai.onnx 1, 11, 22) in f32 of one group over one spatial axis, as an implicit GEMM.
//
// With stride s, position s * i + p of the unpadded result sums x[i - t] * w[p + s * t] over the
// taps t of phase p. So for all p at once it is a convolution of stride 1 with s * O filters, and
// in channels-last order its row i is rows s * i to s * i + s - 1 of the result, side by side. The
// inputs of a row are contiguous, too: they are multiplied in place. Padding cuts rows off at both
// ends. oneDNN prepares code for each length, in seconds for a long one; this needs none.
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

/// What the kernel computes: rows of `phases * outputs` elements from `taps` rows of the input.
struct Line {
  int64_t inputs = 0;   ///< channels
  int64_t outputs = 0;  ///< channels
  int64_t phases = 0;   ///< the stride
  int64_t taps = 0;     ///< of a phase, the kernel's extent divided by the stride and rounded up

  explicit Line(const ConvTransposeShape& shape)
      : inputs(shape.input_channels()),
        outputs(shape.output_channels()),
        phases(shape.window.strides[0]),
        taps(divided_up(shape.window.kernel[0], phases)) {}

  [[nodiscard]] int64_t inner() const { return taps * inputs; }
  [[nodiscard]] int64_t columns() const { return phases * outputs; }
};

/// The matrix [taps, inputs, phases, outputs], the oldest input first, of weights [inputs, outputs,
/// kernel]. Taps beyond the kernel are zeros.
std::vector<float> matrix_of(const Line& line, const std::byte* weights, int64_t kernel) {
  std::vector<float> matrix(static_cast<size_t>(line.inner() * line.columns()), 0);
  std::vector<float> filter(static_cast<size_t>(kernel));
  for (int64_t i = 0; i < line.inputs; ++i) {
    for (int64_t o = 0; o < line.outputs; ++o) {
      const size_t bytes = filter.size() * sizeof(float);  // of any alignment
      std::memcpy(filter.data(), weights + static_cast<size_t>(i * line.outputs + o) * bytes,
                  bytes);
      for (int64_t k = 0; k < kernel; ++k) {
        const int64_t tap = line.taps - 1 - k / line.phases;
        const int64_t row = tap * line.inputs + i;
        const int64_t column = k % line.phases * line.outputs + o;
        matrix[static_cast<size_t>(row * line.columns() + column)] = filter[static_cast<size_t>(k)];
      }
    }
  }
  return matrix;
}

/// `by_channel` for each phase.
std::vector<float> repeated(const std::vector<float>& by_channel, int64_t phases) {
  std::vector<float> all;
  for (int64_t p = 0; p < phases; ++p) all.insert(all.end(), by_channel.begin(), by_channel.end());
  return all;
}

class TransposedLineKernel final : public sdk::Kernel {
 public:
  TransposedLineKernel(const KernelArgs& args, ConvTransposeShape shape)
      : shape_(std::move(shape)), line_(shape_), slots_(args), epilogue_(args.fusion.epilogue) {
    const auto* weights =
        static_cast<const std::byte*>(args.index.value(args.fusion.weights).constant()->data);
    const std::vector<float> matrix = matrix_of(line_, weights, shape_.window.kernel[0]);
    weights_.pack(args.index.host(), args.choices,
                  {matrix.data(), line_.inner(), line_.columns(), /*is_transposed=*/false,
                   repeated(args.fusion.epilogue.scale, line_.phases)});
    bias_ = repeated(folded_bias(args.index, args.fusion, line_.outputs), line_.phases);
    bias_.resize(static_cast<size_t>(divided_up(line_.columns(), kPanelColumns) * kPanelColumns));
  }

  void run(sdk::Call& call) const override;

 private:
  class Run;

  ConvTransposeShape shape_;
  Line line_;
  ConvSlots slots_;
  TileEpilogue epilogue_;
  PanelWeights weights_;
  std::vector<float> bias_;  // of whole panels
};

/// A run with channels-last tensors: source [images, length, inputs], target and addend [images,
/// result length, outputs].
class TransposedLineKernel::Run {
 public:
  struct Tensors {
    const float* source = nullptr;
    const float* addend = nullptr;  ///< null: nothing is added
    float* target = nullptr;
    int64_t images = 0;
    int64_t length = 0;
    int64_t result_length = 0;
  };

  Run(const TransposedLineKernel& kernel, const Tensors& tensors, sdk::Call& call)
      : kernel_(kernel),
        line_(kernel.line_),
        tensors_(tensors),
        call_(call),
        addend_(kernel.epilogue_.kept_addend(
            call, tensors.addend, tensors.target,
            tensors.images * tensors.result_length * kernel.line_.outputs)),
        skipped_(kernel.shape_.window.pads_begin[0]) {
    first_ = skipped_ / line_.phases;
    end_ = divided_up(skipped_ + tensors.result_length, line_.phases);
    // Inputs and results of a block stay in the L2 cache while panel after panel is multiplied.
    const int64_t bytes = (line_.inputs + line_.columns()) * int64_t{sizeof(float)};
    const int64_t cached = std::max<int64_t>(second_cache_bytes() / 2 / bytes, 1);
    const int64_t whole = std::max<int64_t>(
        1, kMultipliesPerBlock / std::max<int64_t>(1, line_.inner() * line_.columns()));
    const int64_t share = divided_up((end_ - first_) * tensors.images, call.thread_count());
    block_rows_ = std::clamp(share, whole, std::max(cached, whole));
    blocks_ = divided_up(end_ - first_, block_rows_);
  }

  void compute() const {
    const int64_t tasks = blocks_ * tensors_.images;
    const int64_t parts = std::min<int64_t>(tasks, call_.thread_count());
    const int64_t room = source_room() + block_rows_ * line_.columns();
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
  /// Rows [first, end) of the matrix product, and where they go.
  struct Block {
    int64_t first = 0;
    int64_t rows = 0;
    const float* source = nullptr;  ///< of the first row's oldest input
    float* results = nullptr;       ///< [rows, columns]
    const float* initial = nullptr;
  };

  [[nodiscard]] int64_t source_room() const {
    return (block_rows_ + line_.taps - 1) * line_.inputs;
  }

  void compute_block(int64_t image, int64_t number, float* room) const {
    Block block;
    block.first = first_ + number * block_rows_;
    block.rows = std::min(block_rows_, end_ - block.first);
    const int64_t outputs = line_.outputs;
    float* target = tensors_.target + image * tensors_.result_length * outputs;
    const float* addend = addend_ ? addend_ + image * tensors_.result_length * outputs : nullptr;
    block.source = source_of(image, block, room);
    // Rows of the result, of which the first and the last block may have some outside.
    const int64_t begin = block.first * line_.phases - skipped_;
    const int64_t kept_begin = std::max<int64_t>(begin, 0);
    const int64_t kept_end = std::min(begin + block.rows * line_.phases, tensors_.result_length);
    const bool is_whole = begin == kept_begin && kept_end == begin + block.rows * line_.phases;
    const int64_t count = (kept_end - kept_begin) * outputs;
    const int64_t cut = (kept_begin - begin) * outputs;
    block.results = is_whole ? target + begin * outputs : room + source_room();
    if (kernel_.epilogue_.adds_first()) {
      if (!is_whole) {
        std::fill_n(block.results, block.rows * line_.columns(), 0.0F);
        std::copy_n(addend + kept_begin * outputs, count, block.results + cut);
      }
      block.initial = is_whole ? addend + begin * outputs : block.results;
    }
    for (int64_t column = 0; column < line_.columns(); column += kPanelColumns)
      multiply(block, column);
    float* kept = target + kept_begin * outputs;
    if (!is_whole) std::copy_n(block.results + cut, count, kept);
    if (!kernel_.epilogue_.is_finished_later()) return;
    for (int64_t i = 0; i < count; i += TileEpilogue::kMostColumns) {
      kernel_.epilogue_.finish(kept + i, addend ? addend + kept_begin * outputs + i : nullptr,
                               std::min(TileEpilogue::kMostColumns, count - i));
    }
  }

  /// The inputs of the block's rows: in place, or a copy with zeros where there are none.
  const float* source_of(int64_t image, const Block& block, float* room) const {
    const float* source = tensors_.source + image * tensors_.length * line_.inputs;
    const int64_t begin = block.first - (line_.taps - 1);
    const int64_t end = block.first + block.rows;
    if (begin >= 0 && end <= tensors_.length) return source + begin * line_.inputs;
    const int64_t there_begin = std::clamp<int64_t>(begin, 0, tensors_.length);
    const int64_t there_end = std::clamp<int64_t>(end, there_begin, tensors_.length);
    std::fill_n(room, (end - begin) * line_.inputs, 0.0F);
    std::copy_n(source + there_begin * line_.inputs, (there_end - there_begin) * line_.inputs,
                room + (there_begin - begin) * line_.inputs);
    return room;
  }

  void multiply(const Block& block, int64_t column) const {
    const int64_t width = panel_width(line_.columns(), column);
    const int64_t next = column + kPanelColumns;
    const int64_t pieces = divided_up(block.rows, matmul_code()->most_rows);
    PanelPass pass({kernel_.weights_.panel(column, 0), kernel_.weights_.dtype(), line_.inner(),
                    width, std::min(width, line_.columns() - column),
                    next < line_.columns() ? kernel_.weights_.panel(next, 0) : nullptr},
                   {line_.inputs, line_.columns(), pieces});
    pass.add_bias(kernel_.bias_.data() + column);
    if (kernel_.epilogue_.bounds()) pass.keep(*kernel_.epilogue_.bounds());
    for (int64_t piece = 0; piece < pieces; ++piece) {
      const int64_t row = piece * block.rows / pieces;
      const int64_t rows = (piece + 1) * block.rows / pieces - row;
      const int64_t at = row * line_.columns() + column;
      pass.multiply(rows, block.source + row * line_.inputs,
                    block.initial ? block.initial + at : nullptr, block.results + at);
    }
  }

  const TransposedLineKernel& kernel_;
  Line line_;
  Tensors tensors_;
  sdk::Call& call_;
  const float* addend_;
  int64_t skipped_;  ///< rows of the unpadded result before the first one
  int64_t first_ = 0;
  int64_t end_ = 0;  ///< [first_, end_): rows of the matrix product
  int64_t block_rows_ = 0;
  int64_t blocks_ = 0;  ///< of an image
};

void TransposedLineKernel::run(sdk::Call& call) const {
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
  tensors.length = input[2];
  tensors.result_length = output[2];
  Run(*this, tensors, call).compute();
  result.finish(call);
}

}  // namespace

Made make_transposed_line(const KernelArgs& args) {
  const Fusion& fusion = args.fusion;
  if (fusion.is_quantized()) return refuse("it is int8");
  if (fusion.rounds_to_bf16) return refuse("it is bf16");
  ConvTransposeShape shape(args.index, fusion.root);
  if (!shape.fault.empty() || shape.spatial_rank() != 1)
    return refuse("it has several spatial axes");
  if (shape.window.dilations[0] != 1) return refuse("it is dilated");
  if (!PackedMatMul::takes(Line(shape).columns()))
    return refuse("panels would be mostly empty, or the CPU has no code for it");
  if (!matmul_epilogue_of(fusion.epilogue)) return refuse("no code for a step of the epilogue");
  return made<TransposedLineKernel>(args, std::move(shape));
}

}  // namespace gantry::x86

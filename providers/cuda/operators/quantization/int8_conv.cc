// SPDX-License-Identifier: Apache-2.0
// int8 convolutions: ConvInteger, QLinearConv, and Conv between DequantizeLinear and
// QuantizeLinear. Tiled, with channels-last operands, where a group has enough channels to fill
// tiles.
#include "kernels/quantization/int8_conv.h"

#include <algorithm>

#include "compile/kernel_texts.h"
#include "operators/nn/window_shape.h"
#include "operators/quantization/int8_call.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

constexpr int64_t kVector = 16;        // elements of a vector access
constexpr int64_t kLeastChannels = 8;  // output channels per group, for tiles
constexpr int64_t kMost = int64_t{1} << 31;

class Int8Conv final : public Operation {
 public:
  explicit Int8Conv(const NodeView& node) : Int8Conv(node, int8_problem(node), {}) {}
  Int8Conv(const NodeView& node, const Int8Problem& work, const Int8ConvLayouts& layouts)
      : window_(node), group_(node.get_int("group", 1)), work_(work), layouts_(layouts) {}

  void plan(Planner& planner) const override {
    const Extents& x = planner.shape(work_.slots.x);
    const Extents& w = planner.shape(work_.slots.w);
    if (w.size() != x.size() || x.size() < 3 || group_ < 1 || w[1] * group_ != x[1]) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "weights " + text_of(w) + " in " + std::to_string(group_) + " groups for " +
                           text_of(x) + ", expected one for each channel of a group");
    }
    Int8ConvParameters p = {};
    p.window = window_.parameters(x, Extents(w.begin() + 2, w.end()));
    p.window.group = group_;
    p.window.result_channels = w[0];
    window_.slide(p.window);
    const Extents shape = shape_of(p.window, x.size());
    p.window.count = count_of(shape);
    const Buffer y = planner.output(0, work_.dtype, shape);
    if (p.window.count == 0) return;
    settle_window(p.window);
    p.window.is_source_last = layouts_.x ? 1 : 0;
    p.window.is_result_last = layouts_.y ? 1 : 0;
    p.out.depth = count_of(w, 1, w.size());
    Int8Addresses addresses;
    add_result(planner, work_, true, w[0], 1, y, p.out, addresses);
    const int64_t depth = padded_channels(w[1]) * count_of(w, 2, w.size());
    const bool fits = p.window.count < kMost && w[0] * depth < kMost;
    // A channels-last input is read in place, so its channels cannot be padded.
    const bool fits_layout = !layouts_.x || padded_channels(w[1]) == w[1];
    if (w[0] / group_ >= kLeastChannels && fits && fits_layout) {
      launch_tiles(planner, p, addresses);
    } else {
      launch_windows(planner, p, addresses);
    }
  }

 private:
  // Channels of a group, padded to whole vectors.
  static int64_t padded_channels(int64_t channels) {
    return channels <= 4 ? 4 : (channels + kVector - 1) / kVector * kVector;
  }

  // Transposes the source in each run; constant weights once.
  void launch_tiles(Planner& planner, Int8ConvParameters& p, Int8Addresses& addresses) const {
    WindowParameters& w = p.window;
    const int64_t taken = w.channels / group_;
    const int64_t made = w.result_channels / group_;
    const int64_t taps = w.kernel[0] * w.kernel[1] * w.kernel[2];
    const int64_t positions = w.out[0] * w.out[1] * w.out[2];
    p.padded_channels = padded_channels(taken);
    p.padded_channels_divisor = divisor_of(p.padded_channels);
    p.positions = divisor_of(positions);
    p.out_2 = divisor_of(w.out[2]);
    p.out_1 = divisor_of(w.out[1]);
    p.kernel_2 = divisor_of(w.kernel[2]);
    p.kernel_1 = divisor_of(w.kernel[1]);
    const uint32_t dtype = planner.input(work_.slots.x).dtype;
    Buffer source = Planner::in(work_.slots.x);
    if (!layouts_.x) {
      const Int8Transpose transpose = {w.batch, group_, taken, w.in[0] * w.in[1] * w.in[2],
                                       p.padded_channels};
      source = planner.scratch(transpose.size_bytes());
      plan_transpose(planner, transpose, dtype, source, Planner::in(work_.slots.x));
    }
    const Buffer weights =
        transposed_.plan(planner, {w.result_channels, 1, taken, taps, p.padded_channels}, work_);
    addresses.insert(addresses.end(), {{&p.source, source}, {&p.weights, weights}});
    const Int8Tile tile = tile_for(planner, made, w.batch * positions, group_);
    w.tiles_m = (made + tile.rows - 1) / tile.rows;
    w.tiles_n = (w.batch * positions + tile.columns - 1) / tile.columns;
    const Int8Tiles tiles = {w.tiles_m * w.tiles_n * group_, taps * p.padded_channels,
                             w.result_channels, layouts_.y ? 1 : positions, w.count};
    const int64_t shares = plan_split_k(planner, tiles, p.out, addresses);
    const std::string body =
        join({text_of_result(planner, work_, true, shares > 1),
              text_of_tile(tile, !work_.is_x_centred, !work_.is_w_centred), "#define IS_WIDE ",
              p.padded_channels % kVector == 0 ? "1" : "0", "\n#define FLIP ",
              layouts_.x ? flip_of(dtype) : "0u", "\n#define IS_RESULT_LAST ",
              layouts_.y ? "1\n" : "0\n", kernel_text("int8_conv.cu")});
    planner.launch(kernel_source({"index.h", "index.cu", "window.h", "int8_epilogue.h",
                                  "int8_conv.h", "elementwise.cu"},
                                 body),
                   tiles.blocks * shares, kThreads, p, addresses);
    if (shares > 1) plan_split_k_reduction(planner, tiles, work_, true, p.out, addresses);
  }

  void launch_windows(Planner& planner, Int8ConvParameters& p, Int8Addresses& addresses) const {
    addresses.insert(addresses.end(), {{&p.source, Planner::in(work_.slots.x)},
                                       {&p.weights, Planner::in(work_.slots.w)}});
    const std::string body = join({"\ntypedef ", index_type(p.window.count < kMost), " Index;\n",
                                   text_of_result(planner, work_, true, false),
                                   kernel_text("window.cu"), kernel_text("int8_window.cu")});
    planner.launch(kernel_source({"index.h", "index.cu", "window.h", "int8_epilogue.h",
                                  "int8_conv.h", "elementwise.cu"},
                                 body),
                   blocks_for(planner, p.window.count), kThreads, p, addresses);
  }

  Window window_;
  int64_t group_;
  Int8Problem work_;
  Int8ConvLayouts layouts_;
  TransposedWeights transposed_;
};

constexpr sdk::DTypeSet kBytes = sdk::dtypes(GANTRY_INT8, GANTRY_UINT8);

std::string has_int8_weights(const NodeView& node) {
  const int slot = node.op_type() == "QLinearConv" ? 3 : 1;
  return sdk::dtype_bit(node.input(slot).dtype()) & kBytes
             ? ""
             : "the type of the weights is not known to have 8 bits";
}

constexpr sdk::KernelRow kRows[] = {
    {"ConvInteger", 10, sdk::kLatest, kBytes, make<Int8Conv>, {}, has_int8_weights},
    {"QLinearConv", 10, sdk::kLatest, kBytes, make<Int8Conv>, {}, has_int8_weights},
};

std::unique_ptr<sdk::Kernel> make_fused(const sdk::FusionCompile& compile,
                                        const Int8Fusion& fusion) {
  const Int8Problem problem = int8_problem(compile, fusion);
  const Int8ConvLayouts layouts = {is_granted(compile.args.input_formats, problem.slots.x),
                                   is_granted(compile.args.output_formats, 0)};
  return kernel_of(
      std::make_unique<Int8Conv>(compile.scope.index().node(fusion.root), problem, layouts));
}

}  // namespace

sdk::KernelTable int8_conv_kernels() { return sdk::table(kRows); }

sdk::FusionRow int8_conv_row() {
  return sdk::fusion_row<Int8Fusion, match_int8_conv, no_refusal<Int8Fusion>, make_fused>(
      "cuda.int8_conv");
}

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// Convolutions of 8-bit numbers: ConvInteger, QLinearConv, and Conv between nodes that quantise.
// By tiles, with the channels side by side, where a group has channels enough to fill some.
#include "../kernels/byte_conv.h"

#include <algorithm>

#include "../kernel_texts.h"
#include "byte_call.h"
#include "window_shape.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

constexpr int64_t kVector = 16;        // numbers that are read as one
constexpr int64_t kLeastChannels = 8;  // of a group's results, for tiles
constexpr int64_t kMost = int64_t{1} << 31;

class ByteConv final : public Operation {
 public:
  explicit ByteConv(const NodeView& node) : ByteConv(node, byte_work(node), {}) {}
  ByteConv(const NodeView& node, const ByteWork& work, const ByteConvOrders& orders)
      : window_(node), group_(node.get_int("group", 1)), work_(work), orders_(orders) {}

  void plan(Planner& planner) const override {
    const Extents& x = planner.shape(work_.slots.x);
    const Extents& w = planner.shape(work_.slots.w);
    if (w.size() != x.size() || x.size() < 3 || group_ < 1 || w[1] * group_ != x[1]) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "weights " + text_of(w) + " in " + std::to_string(group_) + " groups for " +
                           text_of(x) + ", expected one for each channel of a group");
    }
    ByteConvParameters p = {};
    p.window = window_.parameters(x, Extents(w.begin() + 2, w.end()));
    p.window.group = group_;
    p.window.result_channels = w[0];
    window_.slide(p.window);
    const Extents shape = shape_of(p.window, x.size());
    p.window.count = count_of(shape);
    const Buffer y = planner.output(0, work_.dtype, shape);
    if (p.window.count == 0) return;
    settle_window(p.window);
    p.window.is_source_last = orders_.x ? 1 : 0;
    p.window.is_result_last = orders_.y ? 1 : 0;
    p.out.depth = count_of(w, 1, w.size());
    ByteAddresses addresses;
    add_result(planner, work_, true, w[0], 1, y, p.out, addresses);
    const int64_t depth = lies_of(w[1]) * count_of(w, 2, w.size());
    const bool fits = p.window.count < kMost && w[0] * depth < kMost;
    // What lies channels-last is read as it lies.
    const bool lies_so = !orders_.x || lies_of(w[1]) == w[1];
    if (w[0] / group_ >= kLeastChannels && fits && lies_so) {
      launch_tiles(planner, p, addresses);
    } else {
      launch_windows(planner, p, addresses);
    }
  }

 private:
  // Channels of a group as they lie for tiles.
  static int64_t lies_of(int64_t channels) {
    return channels <= 4 ? 4 : (channels + kVector - 1) / kVector * kVector;
  }

  // The source turned round in each run, the weights once if they are constant.
  void launch_tiles(Planner& planner, ByteConvParameters& p, ByteAddresses& addresses) const {
    WindowParameters& w = p.window;
    const int64_t taken = w.channels / group_;
    const int64_t made = w.result_channels / group_;
    const int64_t taps = w.kernel[0] * w.kernel[1] * w.kernel[2];
    const int64_t places = w.out[0] * w.out[1] * w.out[2];
    p.lies = lies_of(taken);
    p.lies_extent = divisor_of(p.lies);
    p.places = divisor_of(places);
    p.out_2 = divisor_of(w.out[2]);
    p.out_1 = divisor_of(w.out[1]);
    p.kernel_2 = divisor_of(w.kernel[2]);
    p.kernel_1 = divisor_of(w.kernel[1]);
    const uint32_t dtype = planner.input(work_.slots.x).dtype;
    Buffer source = Planner::in(work_.slots.x);
    if (!orders_.x) {
      const ByteTurn turn = {w.batch, group_, taken, w.in[0] * w.in[1] * w.in[2], p.lies};
      source = planner.scratch(turn.size_bytes());
      plan_turn(planner, turn, dtype, source, Planner::in(work_.slots.x));
    }
    const Buffer weights =
        turned_.plan(planner, {w.result_channels, 1, taken, taps, p.lies}, work_);
    addresses.insert(addresses.end(), {{&p.source, source}, {&p.weights, weights}});
    const ByteTile tile = tile_for(planner, made, w.batch * places, group_);
    w.tiles_m = (made + tile.rows - 1) / tile.rows;
    w.tiles_n = (w.batch * places + tile.columns - 1) / tile.columns;
    const ByteTiles tiles = {w.tiles_m * w.tiles_n * group_, taps * p.lies, w.result_channels,
                             orders_.y ? 1 : places, w.count};
    const int64_t shares = plan_shares(planner, tiles, p.out, addresses);
    const std::string body = join(
        {text_of_result(planner, work_, true, shares > 1),
         text_of_tile(tile, !work_.is_x_centred, !work_.is_w_centred), "#define IS_WIDE ",
         p.lies % kVector == 0 ? "1" : "0", "\n#define FLIP ", orders_.x ? flip_of(dtype) : "0u",
         "\n#define IS_RESULT_LAST ", orders_.y ? "1\n" : "0\n", kernel_text("byte_conv.cu")});
    planner.launch(kernel_source({"index.h", "index.cu", "window.h", "byte_result.h", "byte_conv.h",
                                  "elementwise.cu"},
                                 body),
                   tiles.blocks * shares, kThreads, p, addresses);
    if (shares > 1) plan_join(planner, tiles, work_, true, p.out, addresses);
  }

  void launch_windows(Planner& planner, ByteConvParameters& p, ByteAddresses& addresses) const {
    addresses.insert(addresses.end(), {{&p.source, Planner::in(work_.slots.x)},
                                       {&p.weights, Planner::in(work_.slots.w)}});
    const std::string body = join({"\ntypedef ", index_type(p.window.count < kMost), " Index;\n",
                                   text_of_result(planner, work_, true, false),
                                   kernel_text("window.cu"), kernel_text("byte_window.cu")});
    planner.launch(kernel_source({"index.h", "index.cu", "window.h", "byte_result.h", "byte_conv.h",
                                  "elementwise.cu"},
                                 body),
                   blocks_for(planner, p.window.count), kThreads, p, addresses);
  }

  Window window_;
  int64_t group_;
  ByteWork work_;
  ByteConvOrders orders_;
  TurnedWeights turned_;
};

constexpr sdk::DTypeSet kBytes = sdk::dtypes(GANTRY_INT8, GANTRY_UINT8);

std::string has_byte_weights(const NodeView& node) {
  const int slot = node.op_type() == "QLinearConv" ? 3 : 1;
  return sdk::dtype_bit(node.input(slot).dtype()) & kBytes
             ? ""
             : "the type of the weights is not known to have 8 bits";
}

constexpr sdk::KernelRow kRows[] = {
    {"ConvInteger", 10, sdk::kLatest, kBytes, make<ByteConv>, {}, has_byte_weights},
    {"QLinearConv", 10, sdk::kLatest, kBytes, make<ByteConv>, {}, has_byte_weights},
};

}  // namespace

std::unique_ptr<Operation> make_byte_conv(const sdk::GraphIndex& index, const ByteUnit& unit,
                                          const ByteConvOrders& orders) {
  return std::make_unique<ByteConv>(index.node(unit.anchor), byte_work(index, unit), orders);
}

sdk::KernelTable byte_conv_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// Normalisations by groups of channels: InstanceNormalization, GroupNormalization.
#include "fuse/channel_norm.h"

#include <algorithm>
#include <bit>

#include "compile/kernel_texts.h"
#include "kernels/nn/channels_last_norm.h"
#include "operators/nn/norm_rows.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;
using Addresses = std::vector<std::pair<const void* const*, Buffer>>;

constexpr int64_t kMostChunks = 64;
constexpr int64_t kMostLanes = 16;     // lanes of a line; 256 contiguous bytes
constexpr int64_t kLeastOfThread = 4;  // least number of positions per thread
constexpr int kThreadsOfGroup = 128;   // of a block that reduces a group
constexpr int64_t kMostNumber = int64_t{1} << 31;

// Strides of a channels-last tensor [batch, channels, height, width].
Extents strides_last(const Extents& shape) {
  const int64_t row = shape[3] * shape[1];
  return {shape[2] * row, 1, row, shape[1]};
}

class ChannelNorm final : public Operation {
 public:
  explicit ChannelNorm(const NodeView& node) : ChannelNorm(node, NormLayouts{}) {}
  ChannelNorm(const NodeView& node, const NormLayouts& layouts)
      : groups_(node.op_type() == "GroupNormalization" ? node.get_int("num_groups", 1) : 0),
        is_by_channel_(groups_ == 0 || node.since_version() >= 21),
        epsilon_(node.get_float("epsilon", 1e-5F)),
        layouts_(layouts) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    if (x.rank() < 2) throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the input has no channels");
    const int64_t channels = x.shape[1];
    const int64_t groups = groups_ == 0 ? channels : groups_;
    if (groups <= 0 || channels % groups != 0) {
      throw sdk::Error(
          GANTRY_INVALID_ARGUMENT,
          std::to_string(channels) + " channels do not make " + std::to_string(groups) + " groups");
    }
    const Buffer y = planner.output(0, x.dtype, x.shape);
    if (x.element_count() == 0) return;
    const bool fits = x.rank() == 4 && x.shape[2] * x.shape[3] * channels < kMostNumber;
    const bool is_last = (layouts_.x || layouts_.y) && fits;
    const Buffer from = moved(planner, Planner::in(0), layouts_.x, is_last);
    const Buffer to = layouts_.y == is_last ? y : scratch(planner);
    if (is_last) {
      plan_last(planner, groups, from, to);
    } else {
      plan_rows(planner, groups, from, to);
    }
    if (layouts_.y != is_last) copy(planner, y, layouts_.y, to, is_last);
  }

 private:
  static Buffer scratch(Planner& planner) {
    const InputMetadata& x = planner.input(0);
    return planner.scratch(static_cast<uint64_t>(x.element_count() * bytes_of(x.dtype)));
  }

  static void copy(Planner& planner, const Buffer& target, bool is_last, const Buffer& source,
                   bool was_last) {
    const InputMetadata& x = planner.input(0);
    const auto strides = [&](bool last) {
      return last ? strides_last(x.shape) : dense_strides(x.shape);
    };
    plan_copy(planner, x.shape, bytes_of(x.dtype), target, strides(is_last), source,
              strides(was_last));
  }

  static Buffer moved(Planner& planner, const Buffer& source, bool was_last, bool is_last) {
    if (was_last == is_last) return source;
    const Buffer made = scratch(planner);
    copy(planner, made, is_last, source, was_last);
    return made;
  }

  // Dense tensors: each group of channels is a row.
  void plan_rows(Planner& planner, int64_t groups, const Buffer& from, const Buffer& to) const {
    const InputMetadata& x = planner.input(0);
    const int64_t size = x.shape[1] / groups;
    const int64_t inner = count_of(x.shape, 2, x.shape.size());
    NormParameters parameters = {};
    parameters.rows = x.shape[0] * groups;
    parameters.length = size * inner;
    parameters.groups = groups;
    parameters.per_group = is_by_channel_ ? size : 1;
    parameters.run = divisor_of(is_by_channel_ ? inner : parameters.length);
    parameters.epsilon = epsilon_;
    const Addresses addresses = {{&parameters.result, to},
                                 {&parameters.source, from},
                                 {&parameters.scale, Planner::in(1)},
                                 {&parameters.shift, Planner::in(2)}};
    launch_norm(planner, parameters, addresses,
                {x.dtype, planner.input(1).dtype, GANTRY_FLOAT, true});
  }

  // Channels-last tensors, in three launches: partial moments per channel and chunk of positions,
  // moments per group, result.
  void plan_last(Planner& planner, int64_t groups, const Buffer& from, const Buffer& to) const {
    const InputMetadata& x = planner.input(0);
    ChannelsLastNormParameters p = {};
    p.batch = x.shape[0];
    p.channels = x.shape[1];
    p.positions = x.shape[2] * x.shape[3];
    p.groups = groups;
    p.is_by_channel = is_by_channel_ ? 1 : 0;
    p.epsilon = epsilon_;
    int64_t vector = 16 / bytes_of(x.dtype);
    while (p.channels % vector != 0) vector /= 2;
    const int64_t packs = p.channels / vector;
    const auto lanes =
        std::min(kMostLanes, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(packs))));
    const int64_t tiles = p.batch * ((packs + lanes - 1) / lanes);
    const int64_t lines = kThreads / lanes;
    p.chunks = std::clamp<int64_t>(std::min<int64_t>(2 * planner.multiprocessors / tiles,
                                                     p.positions / (kLeastOfThread * lines)),
                                   1, kMostChunks);
    p.packs = divisor_of(packs);
    p.image = divisor_of(packs * p.positions);
    p.group = divisor_of(p.channels / groups);
    const int64_t bytes = x.dtype == GANTRY_DOUBLE ? 8 : 4;
    const Buffer partial =
        planner.scratch(static_cast<uint64_t>(2 * bytes * p.batch * p.chunks * p.channels));
    const Buffer statistics = planner.scratch(static_cast<uint64_t>(2 * bytes * p.batch * groups));
    const Addresses addresses = {{&p.result, to},
                                 {&p.source, from},
                                 {&p.scale, Planner::in(1)},
                                 {&p.shift, Planner::in(2)},
                                 {&p.partial, partial},
                                 {&p.statistics, statistics}};
    const int64_t all = p.batch * p.positions * packs;
    const std::string body =
        "\ntypedef " + type_name(x.dtype) + " T;\ntypedef " + type_name(planner.input(1).dtype) +
        " S;\ntypedef " + computed_name(x.dtype) + " C;\ntypedef " + index_type(all < kMostNumber) +
        " Index;\n#define CENTERED\n" + "#define VECTOR " + std::to_string(vector) +
        "\n#define LANES " + std::to_string(lanes) + "\n";
    const auto launch = [&](const char* file, int64_t blocks, int threads) {
      planner.launch(
          kernel_source(
              {"index.h", "index.cu", "channels_last_norm.h", "block_reduce.cu"},
              body + std::string(kernel_text("moments.cu")) + std::string(kernel_text(file))),
          blocks, threads, p, addresses);
    };
    launch("channels_last_norm_partial.cu", tiles * p.chunks, kThreads);
    launch("channels_last_norm_reduce.cu", p.batch * groups, kThreadsOfGroup);
    launch("channels_last_norm_write.cu", blocks_for(planner, all), kThreads);
  }

  int64_t groups_;
  bool is_by_channel_;
  float epsilon_;
  NormLayouts layouts_;
};

constexpr sdk::KernelRow kRows[] = {
    {"GroupNormalization", 18, sdk::kLatest, sdk::kFloats, make<ChannelNorm>},
    {"InstanceNormalization", 6, sdk::kLatest, sdk::kFloats, make<ChannelNorm>},
};

std::unique_ptr<sdk::Kernel> make_in_layout(const sdk::FusionCompile& compile,
                                            const Fusion& fusion) {
  const NormLayouts layouts = {is_granted(compile.args.input_formats, 0),
                               is_granted(compile.args.output_formats, 0)};
  return kernel_of(std::make_unique<ChannelNorm>(compile.scope.index().node(fusion.root), layouts));
}

}  // namespace

sdk::KernelTable channel_norm_kernels() { return sdk::table(kRows); }

sdk::FusionRow channel_norm_row() {
  return sdk::fusion_row<Fusion, match_channel_norm, no_refusal<Fusion>, make_in_layout>(
      "cuda.channel_norm");
}

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding of ONNX and of com.microsoft.
#include "kernels/attention/rotary.h"

#include "compile/kernel_texts.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

// Input slots: position_ids are last and optional in ONNX, second in com.microsoft.
struct Slots {
  int cosines, sines, positions;
};

class Rotary final : public Operation {
 public:
  explicit Rotary(const NodeView& node)
      : slots_(node.domain().empty() ? Slots{1, 2, 3} : Slots{2, 3, 1}),
        heads_(node.get_int("num_heads", 0)),
        rotated_(node.get_int("rotary_embedding_dim", 0)),
        is_interleaved_(node.get_int("interleaved", 0) != 0) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const Extents& cache = planner.shape(slots_.cosines);
    if ((x.rank() != 3 && x.rank() != 4) || cache.size() < 2 ||
        cache != planner.shape(slots_.sines))
      throw misfit(planner);
    RotaryParameters p = {};
    p.pairs = cache.back();
    const bool is_flat = x.rank() == 3;
    const int64_t length = x.shape[is_flat ? 1 : 2];
    // In com.microsoft the head width may follow from the caches only.
    const int64_t heads = !is_flat      ? x.shape[1]
                          : heads_ > 0  ? heads_
                          : p.pairs > 0 ? x.shape[2] / (2 * p.pairs)
                                        : 0;
    if (heads < 1 || (is_flat && x.shape[2] % heads != 0)) throw misfit(planner);
    p.width = is_flat ? x.shape[2] / heads : x.shape[3];
    p.head_stride = is_flat ? p.width : length * p.width;
    p.token_stride = is_flat ? heads * p.width : p.width;
    p.batch_stride = heads * length * p.width;
    p.cache_rows = count_of(cache, 0, cache.size() - 1);
    p.is_interleaved = is_interleaved_ ? 1 : 0;
    if (2 * p.pairs > p.width || (rotated_ > 0 && 2 * p.pairs != rotated_)) throw misfit(planner);
    std::vector<std::pair<const void* const*, Buffer>> addresses = {
        {&p.result, planner.output(0, x.dtype, x.shape)},
        {&p.source, Planner::in(0)},
        {&p.cosines, Planner::in(slots_.cosines)},
        {&p.sines, Planner::in(slots_.sines)}};
    const int64_t tokens = x.shape[0] * length;
    if (planner.has_input(slots_.positions)) {
      const int64_t positions = planner.input(slots_.positions).element_count();
      p.is_offset = planner.input(slots_.positions).rank() == 1 ? 1 : 0;
      if (positions != (p.is_offset != 0 ? 1 : tokens)) throw misfit(planner);
      addresses.emplace_back(reinterpret_cast<const void* const*>(&p.position),
                             Planner::in(slots_.positions));
    } else if (p.cache_rows != tokens) {
      throw misfit(planner);
    }
    p.count = tokens * heads * (p.width - p.pairs);
    if (p.count == 0 || p.cache_rows == 0) return;
    p.items = divisor_of(p.width - p.pairs);
    p.heads = divisor_of(heads);
    p.length = divisor_of(length);
    const std::string body =
        std::string("\ntypedef ") + index_type(p.count < int64_t{1} << 31) + " Index;\ntypedef " +
        type_name(x.dtype) + " T;\ntypedef " + type_name(planner.input(slots_.cosines).dtype) +
        " S;\ntypedef " + computed_name(x.dtype) + " C;\n" + std::string(kernel_text("rotary.cu"));
    planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "rotary.h"}, body),
                   blocks_for(planner, p.count), kThreads, p, addresses);
  }

 private:
  [[nodiscard]] sdk::Error misfit(const Planner& planner) const {
    return {GANTRY_INVALID_ARGUMENT,
            "heads of " + text_of(planner.shape(0)) + ", " + std::to_string(heads_) +
                " of them, do not fit caches of " + text_of(planner.shape(slots_.cosines)) +
                " and " + text_of(planner.shape(slots_.sines)) +
                " or the positions; expected half of the rotated elements of a head as the last "
                "extent"};
  }

  Slots slots_;
  int64_t heads_;
  int64_t rotated_;
  bool is_interleaved_;
};

std::string is_plain(const NodeView& node) {
  return node.get_int("is_packed_batching", 0) != 0 || node.get_float("scale", 1) != 1
             ? "packed batches and a scale are not supported"
             : "";
}

constexpr sdk::DTypeSet kTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16);

constexpr sdk::KernelRow kRows[] = {
    {"RotaryEmbedding", 23, sdk::kLatest, kTypes, make<Rotary>},
    {"RotaryEmbedding", 1, sdk::kLatest, kTypes, make<Rotary>, {}, is_plain, "com.microsoft"},
};

}  // namespace

sdk::KernelTable rotary_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda

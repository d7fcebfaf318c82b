// SPDX-License-Identifier: Apache-2.0
// GroupQueryAttention of com.microsoft: one kernel applies the rotary embedding and writes keys and
// values into the cache, in place where the host grants it; then attention over the cache.
#include <algorithm>

#include "fuse/fusion.h"
#include "operators/attention/attention_call.h"
#include "operators/attention/heads_move.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

enum Slot : int {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLastKeys,
  kTotal,
  kCosines,
  kSines,
  kAngles,
  kBias,
  kSink,
  kMostInputs = 16
};

class GroupAttention final : public Operation {
 public:
  /// `has_fixed_capacity`: present and past have one length in every run, so the total sequence
  /// length may stay on the device; false: it is in host memory.
  GroupAttention(const NodeView& node, bool has_fixed_capacity)
      : has_fixed_capacity_(has_fixed_capacity),
        heads_(node.get_int("num_heads", 0)),
        kv_heads_(node.get_int("kv_num_heads", 0)),
        window_(node.get_int("local_window_size", -1)),
        is_causal_(node.get_int("causal", 1) != 0),
        is_rotated_(node.get_int("do_rotary", 0) != 0),
        is_interleaved_(node.get_int("rotary_interleaved", 0) != 0),
        scale_(node.get_float("scale", 0)),
        softcap_(node.get_float("softcap", 0)) {}

  // Of the total sequence length, a plan depends on the extent of the present and on whether all
  // keys are new; for many queries on the number itself, which bounds the matmuls.
  void add_host_input(const gantry_tensor& tensor, int, const sdk::Call& call,
                      std::vector<int64_t>& key) const override {
    if (tensor.dtype != GANTRY_INT32 || tensor.size_bytes != sizeof(int32_t)) return;
    const int64_t total = *static_cast<const int32_t*>(tensor.data);
    const auto extent = [&](int slot, uint32_t axis) {
      if (!call.has_input(slot) || call.input(slot).rank <= axis) return int64_t{0};
      return call.input(slot).shape[axis];
    };
    const int64_t length = extent(kQuery, 1);
    key.push_back(std::max(extent(kPastKey, 2), total));
    key.push_back(total == length ? 1 : 0);
    if (length >= kLeastQueriesForMatmuls) key.push_back(total);
  }

  void plan(Planner& planner) const override {
    const InputMetadata& given = planner.input(kQuery);
    const uint32_t dtype = given.dtype;
    HeadsBuffer fresh[3];
    find_heads(planner, fresh);
    const Heads& q = fresh[0].heads;
    check_heads(q, fresh[1].heads, fresh[2].heads);
    const Sizes sizes = sizes_of(planner, q, fresh[1].heads);
    const Buffer y = planner.output(0, dtype, {q.batch, q.length, q.heads * fresh[2].heads.width});
    const HeadsBuffer keys = cache(planner, fresh[1].heads, kPastKey, 1, sizes.capacity);
    const HeadsBuffer values = cache(planner, fresh[2].heads, kPastValue, 2, sizes.capacity);
    if (q.batch * q.length == 0) return;

    CachePositions positions = {};
    positions.is_prompt = sizes.is_prompt ? 1 : 0;
    const Buffer total = Planner::in(kTotal);
    HeadsMove move(q.batch, q.length);
    move.position(positions, Planner::in(kLastKeys), has_fixed_capacity_ ? &total : nullptr,
                  sizes.capacity);
    HeadsBuffer queries = fresh[0];
    if (is_rotated_) {
      plan_transpose(planner, move, q);
      queries = {Heads::dense(q.batch, q.heads, q.length, q.width),
                 planner.scratch(static_cast<uint64_t>(count_of(q.shape()) * bytes_of(dtype)))};
      move.add(fresh[0], queries, {{}, true, false});
    }
    move.add(fresh[1], keys, {{}, is_rotated_, true});
    move.add(fresh[2], values, {{}, false, true});
    move.plan(planner, dtype);

    AttentionParameters p = attention_of(queries.heads, keys.heads, values.heads, scale_);
    p.k_length = p.key_limit = static_cast<int>(sizes.most_keys);
    p.positions = positions;
    p.is_causal = is_causal_ ? 1 : 0;
    // The window size includes the query's own key.
    if (window_ >= 0) p.left = static_cast<int>(std::min<int64_t>(window_, 1 << 30)) - 1;
    p.softcap = softcap_;
    AttentionCall call = {p, dtype, GANTRY_BOOL, MASK_KEEPS, queries.at, keys.at, values.at, y, {}};
    call.is_partly_filled = true;
    call.more.emplace_back(reinterpret_cast<const void* const*>(&p.positions.last_keys),
                           Planner::in(kLastKeys));
    if (has_fixed_capacity_)
      call.more.emplace_back(reinterpret_cast<const void* const*>(&p.positions.total), total);
    if (planner.has_input(kBias)) call.add_to_scores(planner, kBias);
    plan_attention(planner, call);
  }

 private:
  struct Sizes {
    int64_t capacity;   // extent of the caches
    int64_t most_keys;  // limit over all batch rows
    bool is_prompt;     // meaningful if the total sequence length is known
  };

  [[nodiscard]] Sizes sizes_of(const Planner& planner, const Heads& q, const Heads& k) const {
    const int64_t past =
        planner.has_input(kPastKey) ? past_length(planner.shape(kPastKey), k, kPastKey) : 0;
    if (planner.input(kLastKeys).element_count() != q.batch ||
        planner.input(kTotal).element_count() != 1) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "inputs 5 and 6 have the shapes " + text_of(planner.shape(kLastKeys)) +
                           " and " + text_of(planner.shape(kTotal)) + ", needs " +
                           std::to_string(q.batch) + " numbers of keys and one of all keys");
    }
    if (has_fixed_capacity_) return {past, past, false};
    const int64_t total = planner.host_integers(kTotal)[0];
    if (total < 0) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "input 6 says " + std::to_string(total) + " keys, needs 0 or more");
    }
    const int64_t capacity = std::max(past, total);
    // For a few queries, the plan serves any number of keys.
    return {capacity, q.length >= kLeastQueriesForMatmuls ? total : capacity, total == q.length};
  }

  void find_heads(const Planner& planner, HeadsBuffer (&fresh)[3]) const {
    const Extents& shape = planner.shape(kQuery);
    const int64_t counts[] = {heads_, kv_heads_, kv_heads_};
    if (planner.has_input(kKey)) {
      for (int i = 0; i < 3; ++i) {
        const Extents& own = planner.shape(i);
        if (own.size() != 3) throw no_rows(i, own);
        fresh[i] = {heads_of(own, counts[i], i), Planner::in(i)};
      }
      if (fresh[1].heads.length != fresh[0].heads.length) throw no_rows(kKey, planner.shape(kKey));
      return;
    }
    // Packed queries, keys and values in one tensor.
    const int64_t all = heads_ + 2 * kv_heads_;
    if (shape.size() != 3 || shape[2] % all != 0) throw no_rows(kQuery, shape);
    const int64_t width = shape[2] / all;
    int64_t before = 0;
    for (int i = 0; i < 3; ++i) {
      const auto offset =
          static_cast<uint64_t>(before * width * bytes_of(planner.input(kQuery).dtype));
      fresh[i] = {Heads::side_by_side(shape[0], counts[i], shape[1], width, shape[2]),
                  Planner::in(kQuery).at(offset)};
      before += counts[i];
    }
  }

  static sdk::Error no_rows(int slot, const Extents& shape) {
    return {GANTRY_INVALID_ARGUMENT,
            "input " + std::to_string(slot) + " has the shape " + text_of(shape) +
                ", needs [batch, length, heads * width] with the queries' batch and length"};
  }

  // The present, with the contents of the past.
  static HeadsBuffer cache(Planner& planner, const Heads& fresh, int past_slot, int present,
                           int64_t capacity) {
    const uint32_t dtype = planner.input(kQuery).dtype;
    const Heads whole = Heads::dense(fresh.batch, fresh.heads, capacity, fresh.width);
    const auto bytes = static_cast<uint64_t>(count_of(whole.shape()) * bytes_of(dtype));
    const Buffer target = planner.wants(present) ? planner.output(present, dtype, whole.shape())
                                                 : planner.scratch(bytes);
    if (!planner.has_input(past_slot)) return {whole, target};
    const int64_t before = past_length(planner.shape(past_slot), fresh, past_slot);
    if (before == capacity) {
      planner.copy(target, Planner::in(past_slot), bytes);
      return {whole, target};
    }
    const Heads past = Heads::dense(fresh.batch, fresh.heads, before, fresh.width);
    plan_copy(planner, past.shape(), bytes_of(dtype), target, whole.all_strides(),
              Planner::in(past_slot), past.all_strides());
    return {whole, target};
  }

  void plan_transpose(const Planner& planner, HeadsMove& move, const Heads& q) const {
    const Extents& cosines = planner.shape(kCosines);
    const bool has_angles = planner.has_input(kAngles);
    if (cosines.size() != 2 || cosines != planner.shape(kSines) || cosines[0] < 1 ||
        2 * cosines[1] > q.width ||
        (has_angles && planner.input(kAngles).element_count() != q.batch * q.length)) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "caches of cosines and sines of the shapes " + text_of(cosines) + " and " +
                           text_of(planner.shape(kSines)) + " do not fit heads of " +
                           std::to_string(q.width) + " elements, or position_ids the tokens");
    }
    const Buffer angles = Planner::in(kAngles);
    move.rotate(Planner::in(kCosines), Planner::in(kSines), planner.input(kCosines).dtype,
                cosines[0], cosines[1], is_interleaved_, has_angles ? &angles : nullptr);
  }

  bool has_fixed_capacity_;
  int64_t heads_;
  int64_t kv_heads_;
  int64_t window_;
  bool is_causal_;
  bool is_rotated_;
  bool is_interleaved_;
  float scale_;
  float softcap_;
};

// Whether past and present have the same extent, as far as the model says: a cache of fixed
// capacity.
bool has_one_length(const NodeView& node) {
  const sdk::ValueView past = node.input(kPastKey);
  const sdk::ValueView present = node.output(1);
  return past.rank() == 4 && present.rank() == 4 && has_equal_extent(past, present, 2);
}

std::string is_supported(const NodeView& node) {
  for (int slot = kSink; slot < kMostInputs; ++slot) {
    if (node.input(slot).present())
      return "sinks, scales of quantized caches and norms of queries and keys are not supported";
  }
  if (node.get_string("k_quant_type", "NONE") != "NONE" ||
      node.get_string("v_quant_type", "NONE") != "NONE")
    return "quantized caches are not supported";
  if (node.get_int("smooth_softmax", 0) > 0 || node.get_int("sliding_window_cache", 0) != 0)
    return "a smooth softmax and a cache that slides are not supported";
  if (node.output(3).present()) return "the scores as an output are not supported";
  if (node.get_int("num_heads", 0) < 1 || node.get_int("kv_num_heads", 0) < 1)
    return "the numbers of heads are not given";
  if (node.input(kPastKey).present() != node.input(kPastValue).present() ||
      node.input(kKey).present() != node.input(kValue).present())
    return "keys and values, past or new, must both be given";
  if (node.get_int("do_rotary", 0) != 0 &&
      (!node.input(kCosines).present() || !node.input(kSines).present()))
    return "caches of cosines and sines are missing";
  for (const int slot : {kKey, kValue, kPastKey, kPastValue, kBias}) {
    if (node.input(slot).present() && node.input(slot).dtype() != node.input(kQuery).dtype())
      return "tensors of different element types are not supported";
  }
  for (const int slot : {kLastKeys, kTotal}) {
    if (node.input(slot).dtype() != GANTRY_INT32) return "numbers of keys are not of int32";
  }
  if (node.input(kAngles).present() && node.input(kAngles).dtype() != GANTRY_INT64)
    return "position_ids are not of int64";
  if (node.input(kPastKey).rank() == 4 && node.input(kPastKey).extent(3) > kMostWidth)
    return "heads of more than " + std::to_string(kMostWidth) + " elements are not supported";
  return "";
}

std::string is_of_one_length(const NodeView& node) {
  return has_one_length(node) ? is_supported(node) : "the cache grows";
}

template <bool kKnowsRoom>
std::unique_ptr<sdk::Kernel> make_group(const NodeView& node) {
  return std::make_unique<PlannedKernel>(std::make_unique<GroupAttention>(node, kKnowsRoom),
                                         kKnowsRoom ? 0 : uint64_t{1} << kTotal);
}

// The caches are updated in place.
constexpr sdk::Marks updating_caches() {
  sdk::Marks marks;
  marks.later_overwrites[0] = uint64_t{1} << kPastKey;
  marks.later_overwrites[1] = uint64_t{1} << kPastValue;
  return marks;
}

// The total sequence length is read when a run is planned. It is not part of the signature: if it
// changes a shape, the output shows it.
constexpr sdk::Marks reading_total() {
  sdk::Marks marks = updating_caches();
  marks.host_inputs = uint64_t{1} << kTotal;
  return marks;
}

constexpr sdk::DTypeSet kTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16);

constexpr sdk::KernelRow kRows[] = {
    {"GroupQueryAttention", 1, sdk::kLatest, kTypes, make_group<true>, updating_caches(),
     is_of_one_length, "com.microsoft"},
    {"GroupQueryAttention", 1, sdk::kLatest, kTypes, make_group<false>, reading_total(),
     is_supported, "com.microsoft"},
};

}  // namespace

sdk::KernelTable group_attention_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda

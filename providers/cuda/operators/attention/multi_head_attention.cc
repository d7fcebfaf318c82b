// SPDX-License-Identifier: Apache-2.0
// MultiHeadAttention and Attention of com.microsoft. Attention first computes queries, keys and
// values by one matmul; the rest is shared.
#include <algorithm>

#include "fuse/fusion.h"
#include "operators/attention/attention_call.h"
#include "operators/attention/heads_move.h"
#include "operators/linear_algebra/rows_matmul.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

// Attributes of both operators.
struct Manner {
  explicit Manner(const NodeView& node)
      : heads(node.get_int("num_heads", 0)),
        is_causal(node.get_int("unidirectional", 0) != 0),
        scale(node.get_float("scale", 0)),
        filter(node.get_float("mask_filter_value", -10000.0F)) {}

  int64_t heads;
  bool is_causal;
  float scale;
  float filter;  // value of masked scores (mask_filter_value)
};

// Operands of attention: strides of the heads, past and present of keys and values, and slots of
// masks and biases.
struct Work {
  HeadsBuffer fresh[3];
  ConcatenatedHeads concatenated[2];
  Buffer result;
  int mask_slot;
  int added_slot;
};

// A mask: key counts [batch], or visibility [batch, keys] or [batch, queries, keys].
void add_mask(const Planner& planner, const Work& work, float filter, AttentionCall& call) {
  if (!planner.has_input(work.mask_slot)) return;
  AttentionParameters& p = call.parameters;
  const Extents& mask = planner.shape(work.mask_slot);
  const bool is_of_lengths = mask.size() == 1;
  if (mask.empty() || mask.size() > 3 || mask[0] != p.batch ||
      (mask.size() == 3 && mask[1] != p.q_length) ||
      (!is_of_lengths && mask.back() != p.k_length)) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     "a mask of the shape " + text_of(mask) + " does not fit " +
                         std::to_string(p.batch) + " rows of " + std::to_string(p.q_length) +
                         " queries and " + std::to_string(p.k_length) + " keys");
  }
  p.mask_batch = count_of(mask, 1, mask.size());
  p.mask_row = mask.size() == 3 ? mask[2] : 0;
  p.filter = filter;
  call.mask = planner.input(work.mask_slot).dtype;
  call.mask_kind = is_of_lengths ? MASK_OF_LENGTHS : MASK_FILTERS;
  call.more.emplace_back(&p.mask, Planner::in(work.mask_slot));
}

void plan_heads(Planner& planner, uint32_t dtype, const Manner& manner, const Work& work) {
  const Heads& q = work.fresh[0].heads;
  const ConcatenatedHeads& keys = work.concatenated[0];
  const ConcatenatedHeads& values = work.concatenated[1];
  const int64_t past = keys.past ? keys.past->heads.length : 0;
  const bool is_apart =
      past > 0 && !keys.present && !values.present && q.length < kLeastQueriesForMatmuls;
  const HeadsBuffer k =
      is_apart ? work.fresh[1] : plan_concatenation(planner, dtype, work.fresh[1], keys);
  const HeadsBuffer v =
      is_apart ? work.fresh[2] : plan_concatenation(planner, dtype, work.fresh[2], values);
  if (q.batch * q.heads * q.length * v.heads.width == 0) return;
  AttentionParameters p = attention_of(q, k.heads, v.heads, manner.scale);
  AttentionCall call = {p,    dtype, GANTRY_BOOL, MASK_KEEPS, work.fresh[0].at,
                        k.at, v.at,  work.result, {}};
  if (is_apart) call.read_past(*keys.past, *values.past);
  // Causal: the queries are at the positions of the last keys.
  p.positions.past = p.k_length - p.q_length;
  p.is_causal = manner.is_causal ? 1 : 0;
  add_mask(planner, work, manner.filter, call);
  if (planner.has_input(work.added_slot)) call.add_to_scores(planner, work.added_slot);
  plan_attention(planner, call);
}

class MultiHead final : public Operation {
 public:
  enum Slot : int {
    kQuery,
    kKey,
    kValue,
    kBias,
    kMask,
    kAdded,
    kPastKey,
    kPastValue,
    kPastLength,
    kIndirection
  };

  explicit MultiHead(const NodeView& node) : manner_(node) {}

  void plan(Planner& planner) const override {
    const uint32_t dtype = planner.input(kQuery).dtype;
    Work work;
    work.mask_slot = kMask;
    work.added_slot = kAdded;
    find_heads(planner, work.fresh);
    const Heads& q = work.fresh[0].heads;
    check_heads(q, work.fresh[1].heads, work.fresh[2].heads);
    work.result =
        planner.output(0, dtype, {q.batch, q.length, q.heads * work.fresh[2].heads.width});
    for (int i = 0; i < 2; ++i) {
      work.concatenated[i] =
          concatenated_heads(planner, dtype, work.fresh[1 + i].heads, kPastKey + i, 1 + i);
    }
    if (planner.has_input(kBias)) add_bias(planner, dtype, work.fresh);
    plan_heads(planner, dtype, manner_, work);
  }

 private:
  void find_heads(const Planner& planner, HeadsBuffer (&fresh)[3]) const {
    const Extents& query = planner.shape(kQuery);
    const int64_t bytes = bytes_of(planner.input(kQuery).dtype);
    if (query.size() == 5) return find_packed(query, kQuery, 3, bytes, fresh);
    fresh[0] = {heads_of(query, manner_.heads, kQuery), Planner::in(kQuery)};
    if (!planner.has_input(kKey)) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "input 0 has the shape " + text_of(query) +
                                                    " and there are no keys, needs [batch, length, "
                                                    "heads, 3, width]");
    }
    const Extents& key = planner.shape(kKey);
    if (key.size() == 5) return find_packed(key, kKey, 2, bytes, fresh);
    for (const int slot : {kKey, kValue})
      fresh[slot] = {heads_of(planner.shape(slot), manner_.heads, slot), Planner::in(slot)};
  }

  // Packed [batch, length, heads, count, width]: the tensors of each head are adjacent.
  void find_packed(const Extents& shape, int slot, int count, int64_t bytes,
                   HeadsBuffer (&fresh)[3]) const {
    if (shape[2] != manner_.heads || shape[3] != count) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "input " + std::to_string(slot) + " has the shape " + text_of(shape) +
                           ", needs [batch, length, " + std::to_string(manner_.heads) + ", " +
                           std::to_string(count) + ", width]");
    }
    const int64_t head = count * shape[4];
    const int64_t row = shape[2] * head;
    for (int i = 0; i < count; ++i) {
      fresh[3 - count + i] = {{shape[0], shape[2], shape[1], shape[4], {shape[1] * row, head, row}},
                              Planner::in(slot).at(static_cast<uint64_t>(i * shape[4] * bytes))};
    }
  }

  // Queries, keys and values with their biases, per head.
  static void add_bias(Planner& planner, uint32_t dtype, HeadsBuffer (&fresh)[3]) {
    int64_t count = 0;
    for (const HeadsBuffer& one : fresh) count += one.heads.heads * one.heads.width;
    if (planner.input(kBias).element_count() != count) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "input 3 has the shape " +
                                                    text_of(planner.shape(kBias)) + ", needs [" +
                                                    std::to_string(count) + "]");
    }
    HeadsMove of_queries(fresh[0].heads.batch, fresh[0].heads.length);
    HeadsMove of_keys(fresh[1].heads.batch, fresh[1].heads.length);
    const bool is_one = fresh[0].heads.length == fresh[1].heads.length;
    int64_t before = 0;
    for (int i = 0; i < 3; ++i) {
      const Heads& heads = fresh[i].heads;
      const auto bytes = static_cast<uint64_t>(count_of(heads.shape()) * bytes_of(dtype));
      const HeadsBuffer made = {Heads::dense(heads.batch, heads.heads, heads.length, heads.width),
                                planner.scratch(bytes)};
      const Buffer bias = Planner::in(kBias).at(static_cast<uint64_t>(before * bytes_of(dtype)));
      (i == 0 || is_one ? of_queries : of_keys).add(fresh[i], made, {bias, false, false});
      before += heads.heads * heads.width;
      fresh[i] = made;
    }
    of_queries.plan(planner, dtype);
    of_keys.plan(planner, dtype);
  }

  Manner manner_;
};

class JointAttention final : public Operation {
 public:
  enum Slot : int { kInput, kWeights, kBias, kMask, kPast, kAdded, kPastLength };

  explicit JointAttention(const NodeView& node)
      : manner_(node), sizes_(node.get_ints("qkv_hidden_sizes")) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(kInput);
    const Extents& weights = planner.shape(kWeights);
    Extents sizes = sizes_;
    if (sizes.empty() && weights.size() == 2) sizes.assign(3, weights[1] / 3);
    check(planner, sizes);
    const Buffer projections = planner.scratch(
        static_cast<uint64_t>(x.shape[0] * x.shape[1] * weights[1] * bytes_of(x.dtype)));
    Work work;
    work.mask_slot = kMask;
    work.added_slot = kAdded;
    int64_t before = 0;
    for (size_t i = 0; i < 3; ++i) {
      work.fresh[i] = {Heads::side_by_side(x.shape[0], manner_.heads, x.shape[1],
                                           sizes[i] / manner_.heads, weights[1]),
                       projections.at(static_cast<uint64_t>(before * bytes_of(x.dtype)))};
      before += sizes[i];
    }
    const Heads& q = work.fresh[0].heads;
    check_heads(q, work.fresh[1].heads, work.fresh[2].heads);
    work.result = planner.output(0, x.dtype, {q.batch, q.length, sizes[2]});
    bind_past_and_present(planner, x.dtype, work);
    if (q.batch * q.length == 0) return;
    const Buffer bias = Planner::in(kBias);
    plan_rows_matmul(planner, {x.dtype, q.batch * q.length, weights[1], x.shape[2], false},
                     Planner::in(kInput), Planner::in(kWeights),
                     planner.has_input(kBias) ? &bias : nullptr, projections);
    plan_heads(planner, x.dtype, manner_, work);
  }

 private:
  void check(const Planner& planner, const Extents& sizes) const {
    const Extents& x = planner.shape(kInput);
    const Extents& weights = planner.shape(kWeights);
    bool fits = x.size() == 3 && weights.size() == 2 && sizes.size() == 3 && x[2] == weights[0] &&
                sizes[0] + sizes[1] + sizes[2] == weights[1];
    for (size_t i = 0; fits && i < 3; ++i) fits = sizes[i] % manner_.heads == 0;
    fits =
        fits && (!planner.has_input(kBias) || planner.input(kBias).element_count() == weights[1]);
    if (fits) return;
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, "inputs of the shape " + text_of(x) + ", weights " +
                                                  text_of(weights) +
                                                  " and a bias do not fit together, or not " +
                                                  std::to_string(manner_.heads) + " heads");
  }

  // Past and present are one tensor each, [2 (keys, values), batch, heads, positions, width].
  static void bind_past_and_present(Planner& planner, uint32_t dtype, Work& work) {
    const bool has_past = planner.has_input(kPast);
    const bool wants_present = planner.wants(1);
    if (!has_past && !wants_present) return;
    const Heads& k = work.fresh[1].heads;
    Extents past = has_past ? planner.shape(kPast) : Extents{2, k.batch, k.heads, 0, k.width};
    if (past.size() != 5 || past[0] != 2 || work.fresh[2].heads.width != k.width) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "the past has the shape " + text_of(past) +
                           ", needs [2, batch, heads, positions, width] with keys and values of "
                           "one width");
    }
    const int64_t before = past_length({past.begin() + 1, past.end()}, k, kPast);
    const Heads old = Heads::dense(k.batch, k.heads, before, k.width);
    const Extents whole = {k.batch, k.heads, before + k.length, k.width};
    Buffer present;
    if (wants_present) {
      Extents both = whole;
      both.insert(both.begin(), 2);
      present = planner.output(1, dtype, both);
    }
    for (int i = 0; i < 2; ++i) {
      const auto offset = [&](const Extents& shape) {
        return static_cast<uint64_t>(i * count_of(shape) * bytes_of(dtype));
      };
      if (has_past) work.concatenated[i].past = {old, Planner::in(kPast).at(offset(old.shape()))};
      if (wants_present) work.concatenated[i].present = present.at(offset(whole));
    }
  }

  Manner manner_;
  Extents sizes_;
};

// Refusals of both operators. `mask`, `added`: slots.
std::string is_known(const NodeView& node, int mask, int added) {
  if (node.get_int("num_heads", 0) < 1) return "the number of heads is not given";
  const sdk::ValueView masked = node.input(mask);
  if (masked.present()) {
    if (masked.dtype() != GANTRY_INT32) return "the mask is not of int32";
    if (masked.rank() < 1 || masked.rank() > 3) return "a mask of this rank is not supported";
    // Key counts [batch]; the longer forms of 1-D masks contain offsets.
    const sdk::ValueView rows = node.input(0);
    if (masked.rank() == 1 && (rows.rank() < 1 || !has_equal_extent(masked, rows, 0)))
      return "a mask with the ends and the beginnings of keys is not supported";
  }
  if (node.input(added).present() && node.input(added).dtype() != node.input(0).dtype())
    return "what is added to scores has another element type";
  return "";
}

// Refuses heads that are too wide. `width`: of all heads together.
std::string is_narrow(const NodeView& node, int64_t width) {
  return width > node.get_int("num_heads", 0) * kMostWidth
             ? "heads of more than " + std::to_string(kMostWidth) + " elements are not supported"
             : "";
}

std::string is_multi_head(const NodeView& node) {
  if (node.output(3).present()) return "the scores as an output are not supported";
  if (node.input(MultiHead::kPastLength).present() || node.input(MultiHead::kIndirection).present())
    return "a past in a longer buffer and beams are not supported";
  if (node.input(MultiHead::kPastKey).present() != node.input(MultiHead::kPastValue).present())
    return "past keys and past values must both be given";
  if (node.input(MultiHead::kBias).present() &&
      (node.input(MultiHead::kQuery).rank() != 3 || node.input(MultiHead::kKey).rank() != 3))
    return "a bias of heads that are packed or lie one behind the other is not supported";
  for (const int slot : {MultiHead::kKey, MultiHead::kValue, MultiHead::kBias, MultiHead::kPastKey,
                         MultiHead::kPastValue}) {
    if (node.input(slot).present() && node.input(slot).dtype() != node.input(0).dtype())
      return "tensors of different element types are not supported";
  }
  const sdk::ValueView query = node.input(MultiHead::kQuery);
  const std::string reason = is_known(node, MultiHead::kMask, MultiHead::kAdded);
  return reason.empty() && query.rank() == 3 ? is_narrow(node, query.extent(2)) : reason;
}

std::string joint_attention_refusal(const NodeView& node) {
  if (node.input(JointAttention::kPastLength).present())
    return "a past in a longer buffer is not supported";
  if (node.get_int("do_rotary", 0) != 0) return "a rotation of heads is not supported";
  for (const int slot : {JointAttention::kWeights, JointAttention::kBias, JointAttention::kPast}) {
    if (node.input(slot).present() && node.input(slot).dtype() != node.input(0).dtype())
      return "tensors of different element types are not supported";
  }
  const sdk::ValueView weights = node.input(JointAttention::kWeights);
  const std::string reason = is_known(node, JointAttention::kMask, JointAttention::kAdded);
  return reason.empty() && weights.rank() == 2 ? is_narrow(node, weights.extent(1) / 3) : reason;
}

constexpr sdk::DTypeSet kTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16);

constexpr sdk::KernelRow kRows[] = {
    {"MultiHeadAttention",
     1,
     sdk::kLatest,
     kTypes,
     make<MultiHead>,
     {},
     is_multi_head,
     "com.microsoft"},
    {"Attention",
     1,
     sdk::kLatest,
     kTypes,
     make<JointAttention>,
     {},
     joint_attention_refusal,
     "com.microsoft"},
};

}  // namespace

sdk::KernelTable multi_head_attention_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda

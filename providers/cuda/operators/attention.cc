// SPDX-License-Identifier: Apache-2.0
// Attention of ONNX: any number of queries, grouped heads, a past, masks, windows, soft caps, by a
// kernel that makes no matrix of scores.
#include "../kernels/attention.h"

#include <algorithm>
#include <cmath>

#include "attention_call.h"
#include "operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

enum Slot : int { kQ, kK, kV, kMask, kPastK, kPastV, kLengths };

constexpr int64_t kMostWidth = 512;

/// A tensor of heads and how it lies.
struct Heads {
  int64_t batch, heads, length, width;
  HeadStrides strides;

  static Heads dense(int64_t batch, int64_t heads, int64_t length, int64_t width) {
    return {batch, heads, length, width, {heads * length * width, length * width, width}};
  }
  [[nodiscard]] Extents shape() const { return {batch, heads, length, width}; }
  [[nodiscard]] Extents all_strides() const {
    return {strides.batch, strides.head, strides.row, 1};
  }
};

// [batch, heads, length, width], or [batch, length, heads * width].
Heads heads_of(const Extents& shape, int64_t count, int slot) {
  if (shape.size() == 4) return Heads::dense(shape[0], shape[1], shape[2], shape[3]);
  if (shape.size() != 3 || count < 1 || shape[2] % count != 0) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     "input " + std::to_string(slot) + " has the shape " + text_of(shape) +
                         ", needs [batch, heads, length, width], or [batch, length, heads * width] "
                         "and the attribute of the number of heads");
  }
  const int64_t width = shape[2] / count;
  return {shape[0], count, shape[1], width, {shape[1] * shape[2], width, shape[2]}};
}

class Attention final : public Operation {
 public:
  explicit Attention(const NodeView& node)
      : is_causal_(node.get_int("is_causal", 0) != 0),
        q_heads_(node.get_int("q_num_heads", 0)),
        kv_heads_(node.get_int("kv_num_heads", 0)),
        scale_(node.get_float("scale", 0)),
        softcap_(node.get_float("softcap", 0)),
        left_(node.get_int("left_window_size", -1)),
        right_(node.get_int("right_window_size", -1)) {}

  void plan(Planner& planner) const override {
    const InputFacts& given = planner.input(kQ);
    const Heads q = heads_of(given.shape, q_heads_, kQ);
    Heads k = heads_of(planner.shape(kK), kv_heads_, kK);
    Heads v = heads_of(planner.shape(kV), kv_heads_, kV);
    check(planner, q, k, v);
    Extents shape = given.shape;
    shape.back() = shape.size() == 4 ? v.width : q.heads * v.width;
    const Buffer y = planner.output(0, given.dtype, shape);
    const int64_t past = planner.has_input(kPastK) ? past_of(planner, kPastK, k) : 0;
    if (planner.has_input(kPastV)) past_of(planner, kPastV, v);
    // A few queries read the past where it lies, if nobody wants all in one piece.
    const bool is_apart = past > 0 && planner.has_input(kPastV) && !planner.wants(1) &&
                          !planner.wants(2) && q.length < kLeastQueriesOfProducts;
    const Buffer keys = is_apart ? Planner::in(kK) : joined(planner, kK, kPastK, 1, k);
    const Buffer values = is_apart ? Planner::in(kV) : joined(planner, kV, kPastV, 2, v);
    if (count_of(shape) == 0) return;
    AttentionParameters p = {};
    if (is_apart) {
      p.k_past = static_cast<int>(past);
      p.past_k = Heads::dense(k.batch, k.heads, past, k.width).strides;
      p.past_v = Heads::dense(v.batch, v.heads, past, v.width).strides;
    }
    p.q = q.strides;
    p.k = k.strides;
    p.v = v.strides;
    p.y = given.rank() == 4 ? Heads::dense(q.batch, q.heads, q.length, v.width).strides
                            : HeadStrides{q.length * q.heads * v.width, v.width, q.heads * v.width};
    p.batch = q.batch;
    p.q_heads = static_cast<int>(q.heads);
    p.kv_heads = static_cast<int>(k.heads);
    p.q_length = static_cast<int>(q.length);
    p.k_length = p.key_limit = static_cast<int>(p.k_past + k.length);
    p.width = static_cast<int>(q.width);
    p.v_width = static_cast<int>(v.width);
    p.past = static_cast<int>(past);
    p.is_causal = is_causal_ ? 1 : 0;
    p.left = static_cast<int>(std::min<int64_t>(left_, 1 << 30));
    p.right = static_cast<int>(std::min<int64_t>(right_, 1 << 30));
    p.scale =
        scale_ != 0 ? scale_ : 1 / std::sqrt(static_cast<float>(std::max<int64_t>(q.width, 1)));
    p.softcap = softcap_;
    launch(planner, p, q, y, keys, values);
  }

 private:
  static void check(const Planner& planner, const Heads& q, const Heads& k, const Heads& v) {
    const size_t rank = planner.shape(kQ).size();
    if (planner.shape(kK).size() != rank || planner.shape(kV).size() != rank ||
        k.batch != q.batch || v.batch != q.batch || k.width != q.width || v.heads != k.heads ||
        v.length != k.length || k.heads < 1 || q.heads % k.heads != 0) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "queries of the shape " + text_of(planner.shape(kQ)) + ", keys " +
                           text_of(planner.shape(kK)) + " and values " +
                           text_of(planner.shape(kV)) + " do not fit together");
    }
    if (std::max(q.width, v.width) > kMostWidth) {
      throw sdk::Error(GANTRY_UNSUPPORTED,
                       "heads of " + std::to_string(std::max(q.width, v.width)) +
                           " elements, more than " + std::to_string(kMostWidth));
    }
  }

  // Keys of the past, which has to fit the heads.
  static int64_t past_of(const Planner& planner, int slot, const Heads& heads) {
    const Extents& past = planner.shape(slot);
    if (past.size() == 4 && past[0] == heads.batch && past[1] == heads.heads &&
        past[3] == heads.width)
      return past[2];
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, "input " + std::to_string(slot) + " has the shape " +
                                                  text_of(past) + ", which does not fit the heads");
  }

  // Past and new keys one behind the other, as output `present`, or where they lie if there is no
  // past and nobody wants them.
  static Buffer joined(Planner& planner, int slot, int past_slot, int present, Heads& heads) {
    const bool has_past = planner.has_input(past_slot);
    if (!has_past && !planner.wants(present)) return Planner::in(slot);
    const uint32_t dtype = planner.input(slot).dtype;
    const int64_t before = has_past ? past_of(planner, past_slot, heads) : 0;
    const Heads whole = Heads::dense(heads.batch, heads.heads, before + heads.length, heads.width);
    const Buffer target =
        planner.wants(present)
            ? planner.output(present, dtype, whole.shape())
            : planner.scratch(static_cast<uint64_t>(count_of(whole.shape()) * bytes_of(dtype)));
    if (has_past) {
      const Extents& past = planner.shape(past_slot);
      plan_copy(planner, past, bytes_of(dtype), target, whole.all_strides(), Planner::in(past_slot),
                dense_strides(past));
    }
    plan_copy(planner, heads.shape(), bytes_of(dtype),
              target.at(static_cast<uint64_t>(before * heads.width * bytes_of(dtype))),
              whole.all_strides(), Planner::in(slot), heads.all_strides());
    heads = whole;
    return target;
  }

  // Strides of a mask [batch, heads, queries, keys], of which axes may be missing or 1.
  static void place_mask(const Planner& planner, const Heads& q, AttentionParameters& p) {
    const Extents& mask = planner.shape(kMask);
    const int64_t expected[] = {q.batch, q.heads, q.length};
    Offset* const strides[] = {&p.mask_batch, &p.mask_head, &p.mask_row};
    bool fits = !mask.empty() && mask.size() <= 4 && mask.back() <= p.k_length;
    const Extents dense = dense_strides(mask);
    for (size_t back = 2; fits && back <= mask.size(); ++back) {
      const size_t axis = mask.size() - back;
      const size_t place = 4 - back;
      fits = mask[axis] == 1 || mask[axis] == expected[place];
      *strides[place] = mask[axis] == 1 ? 0 : dense[axis];
    }
    if (!fits) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "a mask of the shape " + text_of(mask) +
                                                    " does not fit " + std::to_string(q.length) +
                                                    " queries and " + std::to_string(p.k_length) +
                                                    " keys");
    }
    p.key_limit = static_cast<int>(mask.back());
  }

  static void launch(Planner& planner, AttentionParameters& p, const Heads& q, const Buffer& y,
                     const Buffer& keys, const Buffer& values) {
    std::vector<std::pair<const void* const*, Buffer>> addresses;  // of what is added and left out
    uint32_t mask = GANTRY_BOOL;
    if (planner.has_input(kMask)) {
      place_mask(planner, q, p);
      mask = planner.input(kMask).dtype;
      addresses.emplace_back(&p.mask, Planner::in(kMask));
    }
    if (planner.has_input(kLengths)) {
      addresses.emplace_back(reinterpret_cast<const void* const*>(&p.lengths),
                             Planner::in(kLengths));
    }
    if (p.k_past > 0) {
      addresses.emplace_back(&p.past_keys, Planner::in(kPastK));
      addresses.emplace_back(&p.past_values, Planner::in(kPastV));
    }
    AttentionCall call = {p,        planner.input(kQ).dtype, mask, Planner::in(kQ), keys, values, y,
                          addresses};
    if (plan_attention_by_products(planner, call)) return;
    plan_attention_by_strips(planner, call);
  }

  bool is_causal_;
  int64_t q_heads_;
  int64_t kv_heads_;
  float scale_;
  float softcap_;
  int64_t left_;
  int64_t right_;
};

std::string is_supported(const NodeView& node) {
  if (node.output(3).present())
    return "the products of queries and keys as an output are not supported";
  for (const int slot : {kK, kV, kPastK, kPastV}) {
    if (node.input(slot).present() && node.input(slot).dtype() != node.input(kQ).dtype())
      return "queries, keys and values of different element types are not supported";
  }
  const sdk::ValueView mask = node.input(kMask);
  if (mask.present() && !(sdk::dtype_bit(mask.dtype()) & (sdk::kFloats | sdk::kBool)))
    return "the mask is neither of floats nor of bool";
  if (node.input(kPastK).present() != node.input(kPastV).present())
    return "past keys and past values must both be given";
  return "";
}

constexpr sdk::KernelRow kRows[] = {
    {"Attention", 23, sdk::kLatest, sdk::kFloats, make<Attention>, {}, is_supported},
};

}  // namespace

sdk::KernelTable attention_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// Attention (ai.onnx): any number of queries, grouped heads, a past, masks, windows, soft caps.
#include <algorithm>

#include "operators/attention/attention_call.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

enum Slot : int { kQ, kK, kV, kMask, kPastK, kPastV, kLengths };

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
    const InputMetadata& given = planner.input(kQ);
    const uint32_t dtype = given.dtype;
    if (planner.input(kK).rank() != given.rank() || planner.input(kV).rank() != given.rank()) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "queries of the shape " + text_of(given.shape) +
                                                    ", keys " + text_of(planner.shape(kK)) +
                                                    " and values " + text_of(planner.shape(kV)) +
                                                    " need as many axes");
    }
    const Heads q = heads_of(given.shape, q_heads_, kQ);
    const HeadsBuffer k = {heads_of(planner.shape(kK), kv_heads_, kK), Planner::in(kK)};
    const HeadsBuffer v = {heads_of(planner.shape(kV), kv_heads_, kV), Planner::in(kV)};
    check_heads(q, k.heads, v.heads);
    Extents shape = given.shape;
    shape.back() = shape.size() == 4 ? v.heads.width : q.heads * v.heads.width;
    const Buffer y = planner.output(0, dtype, shape);
    const ConcatenatedHeads keys = concatenated_heads(planner, dtype, k.heads, kPastK, 1);
    const ConcatenatedHeads values = concatenated_heads(planner, dtype, v.heads, kPastV, 2);
    const int64_t past = keys.past ? keys.past->heads.length : 0;
    // Fused kernels read the past in place, unless the present is an output.
    const bool is_apart = past > 0 && values.past && !keys.present && !values.present &&
                          (q.length < kLeastQueriesForMatmuls ||
                           takes_tiles(dtype, attention_of(q, k.heads, v.heads, scale_)));
    const HeadsBuffer all_keys = is_apart ? k : plan_concatenation(planner, dtype, k, keys);
    const HeadsBuffer all_values = is_apart ? v : plan_concatenation(planner, dtype, v, values);
    if (count_of(shape) == 0) return;
    AttentionParameters p = attention_of(q, all_keys.heads, all_values.heads, scale_);
    AttentionCall call = {p,           dtype,         GANTRY_BOOL, MASK_KEEPS, Planner::in(kQ),
                          all_keys.at, all_values.at, y,           {}};
    if (is_apart) call.read_past(*keys.past, *values.past);
    if (given.rank() == 4) p.y = Heads::dense(q.batch, q.heads, q.length, v.heads.width).strides;
    p.positions.past = static_cast<int>(past);
    p.is_causal = is_causal_ ? 1 : 0;
    p.left = static_cast<int>(std::min<int64_t>(left_, 1 << 30));
    p.right = static_cast<int>(std::min<int64_t>(right_, 1 << 30));
    p.softcap = softcap_;
    add_masks(planner, call);
    plan_attention(planner, call);
  }

 private:
  static void add_masks(const Planner& planner, AttentionCall& call) {
    AttentionParameters& p = call.parameters;
    if (planner.has_input(kMask)) {
      const Extents& mask = planner.shape(kMask);
      const HeadStrides strides = score_strides(mask, p, "a mask");
      p.mask_batch = strides.batch;
      p.mask_head = strides.head;
      p.mask_row = strides.row;
      p.key_limit = static_cast<int>(mask.back());
      call.mask = planner.input(kMask).dtype;
      call.mask_kind = call.mask == GANTRY_BOOL ? MASK_KEEPS : MASK_ADDED;
      call.more.emplace_back(&p.mask, Planner::in(kMask));
    }
    if (planner.has_input(kLengths)) {
      call.more.emplace_back(reinterpret_cast<const void* const*>(&p.lengths),
                             Planner::in(kLengths));
      call.is_partly_filled = true;
    }
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

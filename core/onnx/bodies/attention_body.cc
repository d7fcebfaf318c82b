// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/attention_body.h"

namespace gantry {
namespace {

// In which ai.onnx has Attention.
constexpr int64_t kOpsetOfAttention = 23;
constexpr float kLowest = -3.4028234e38F;

// The meaning of a mask of rank 1: the end of the keys for each batch, or all ends and then all
// starts.
enum class MaskForm { kEnds, kEndsAndStarts, kKnownInRun };

MaskForm form_of_mask(int64_t mask, int64_t batch) {
  if (mask < 0 || batch < 0) return MaskForm::kKnownInRun;
  return mask == 2 * batch && batch > 0 ? MaskForm::kEndsAndStarts : MaskForm::kEnds;
}

}  // namespace

AttentionBody::AttentionBody(onnx::FunctionProto& function, const BodyContext& context)
    : BodyText(function),
      type_(type_of(context, 0)),
      opset_(onnx_opset_of(context)),
      heads_(int_of(context, "num_heads", 0)),
      kv_heads_(int_of(context, "kv_num_heads", heads_)) {
  ints("i0", {0});
  ints("i1", {1});
  ints("rest", {-1});
  ints("end", {int64_t{1} << 62});
}

void AttentionBody::widen(const std::string& to, const std::string& tensor) {
  add(to + " = Cast<to = 1>(" + tensor + ")");
}

void AttentionBody::narrow(const std::string& to, const std::string& tensor) {
  add(to + " = Cast<to = " + std::to_string(type_) + ">(" + tensor + ")");
}

void AttentionBody::split_heads(const std::string& to, const std::string& tensor, int64_t heads) {
  reshape(to, tensor, std::vector<int64_t>{0, 0, heads, -1});
}

void AttentionBody::split_projections(int count, bool has_bias, std::string (&parts)[3]) {
  const char* const names[] = {"query", "key", "value"};
  std::string begin = "i0";
  for (int i = 0; i < count; ++i) {
    const std::string name = names[i];
    std::string tensor = name;
    if (has_bias) {
      extent(name + "_width", name, 2);
      sum(name + "_end", begin, name + "_width");
      slice(name + "_bias", "bias", begin, name + "_end", 0);
      sum(name + "_sum", name, name + "_bias");
      begin = name + "_end";
      tensor = name + "_sum";
    }
    split_heads(name + "_by_query", tensor, heads_);
    parts[i] = std::string(1, "qkv"[i]);
    transpose(parts[i], name + "_by_query");
  }
  for (int i = count; i < 3; ++i) parts[i] = names[i];
}

void AttentionBody::transpose(const std::string& to, const std::string& tensor) {
  add(to + " = Transpose<perm = [0, 2, 1, 3]>(" + tensor + ")");
}

void AttentionBody::look_up(const std::string& cache, const std::string& to,
                            const std::string& positions) {
  add(to + "_rows = Gather(" + cache + "_cache, " + positions + ")");
  widen(to + "_wide", to + "_rows");
  unsqueeze(to, to + "_wide", {2});
}

void AttentionBody::rotate(const std::string& to, const std::string& x,
                           const std::string& positions, bool is_interleaved) {
  look_up("cos", to + "_cos", positions);
  look_up("sin", to + "_sin", positions);
  rotate_by(to, x, to + "_cos", to + "_sin", is_interleaved);
}

void AttentionBody::rotate_by(const std::string& to, const std::string& x, const std::string& cos,
                              const std::string& sin, bool is_interleaved) {
  const std::string p = to + "_";
  extent(p + "half", "cos_cache", 1);
  add(p + "turned_width = Add(" + p + "half, " + p + "half)");
  slice(p + "all", x, "i0", p + "turned_width", 3);
  slice(p + "kept", x, p + "turned_width", "end", 3);
  if (is_interleaved) {
    ints(p + "step", {2});
    ints(p + "last", {3});
    add(p + "a = Slice(" + p + "all, i0, end, " + p + "last, " + p + "step)");
    add(p + "b = Slice(" + p + "all, i1, end, " + p + "last, " + p + "step)");
  } else {
    slice(p + "a", p + "all", "i0", p + "half", 3);
    slice(p + "b", p + "all", p + "half", "end", 3);
  }
  add(p + "ac = Mul(" + p + "a, " + cos + ")");
  add(p + "bs = Mul(" + p + "b, " + sin + ")");
  add(p + "first = Sub(" + p + "ac, " + p + "bs)");
  add(p + "as = Mul(" + p + "a, " + sin + ")");
  add(p + "bc = Mul(" + p + "b, " + cos + ")");
  add(p + "second = Add(" + p + "as, " + p + "bc)");
  if (!is_interleaved) {
    add(to + " = Concat<axis = 3>(" + p + "first, " + p + "second, " + p + "kept)");
    return;
  }
  unsqueeze(p + "first_of_pair", p + "first", {4});
  unsqueeze(p + "second_of_pair", p + "second", {4});
  add(p + "pairs = Concat<axis = 4>(" + p + "first_of_pair, " + p + "second_of_pair)");
  reshape(p + "flat", p + "pairs", std::vector<int64_t>{0, 0, 0, -1});
  add(to + " = Concat<axis = 3>(" + p + "flat, " + p + "kept)");
}

void AttentionBody::attend(const std::string& q, const std::string& k, const std::string& v,
                           const Scores& scores) {
  // ONNX has changed where Attention applies the softcap, so the operator is not used with one.
  if (opset_ >= kOpsetOfAttention && scores.softcap == 0 && scores.sink.empty() &&
      scores.wish == Scores::Wish::kNone) {
    attend_by_operator(q, k, v, scores);
  } else {
    attend_in_parts(q, k, v, scores);
  }
  transpose("by_query", "mixed_heads");
  reshape("flat_output", "by_query", std::vector<int64_t>{0, 0, -1});
  narrow("output", "flat_output");
}

void AttentionBody::attend_by_operator(const std::string& q, const std::string& k,
                                       const std::string& v, const Scores& scores) {
  std::string mask;
  for (size_t i = 0; i < scores.biases.size(); ++i) {
    if (mask.empty()) {
      mask = scores.biases[i];
      continue;
    }
    const std::string sum = "bias_sum" + std::to_string(i);
    this->sum(sum, mask, scores.biases[i]);
    mask = sum;
  }
  if (!scores.visible.empty() && !mask.empty()) {
    number("lowest", kLowest);
    add("bias_of_visible = Where(" + scores.visible + ", " + mask + ", lowest)");
    mask = "bias_of_visible";
  } else if (!scores.visible.empty()) {
    mask = scores.visible;
  }
  const std::string line = "mixed_heads = Attention(" + q + ", " + k + ", " + v +
                           (mask.empty() ? "" : ", " + mask) + ")";
  if (scores.scale == 0) return add(line);
  add(line, "scale", scores.scale);
}

void AttentionBody::attend_in_parts(const std::string& q, const std::string& k,
                                    const std::string& v, const Scores& scores) {
  extent("queries", q, 2);
  extent("width", q, 3);
  extent("keys", k, 2);
  if (scores.scale != 0) {
    number("scale", scores.scale);
  } else {
    widen("width_in_floats", "width");
    add("width_root = Sqrt(width_in_floats)");
    add("scale = Reciprocal(width_root)");
  }
  add("scaled = Mul(" + q + ", scale)");
  // Queries that share keys (grouped heads) are rows of one MatMul.
  ints("groups", {0, kv_heads_, -1});
  reshape("grouped", "scaled", std::vector<std::string>{"groups", "width"});
  add("turned_keys = Transpose<perm = [0, 1, 3, 2]>(" + k + ")");
  add("products = MatMul(grouped, turned_keys)");
  std::string now = "products";
  if (scores.softcap != 0) {
    number("cap", scores.softcap);
    add("over_cap = Div(products, cap)");
    add("bent = Tanh(over_cap)");
    add("capped = Mul(bent, cap)");
    now = "capped";
  }
  ints("by_head", {0, heads_});
  reshape("scores", now, std::vector<std::string>{"by_head", "queries", "keys"});
  now = "scores";
  for (size_t i = 0; i < scores.biases.size(); ++i) {
    const std::string sum = "biased" + std::to_string(i);
    this->sum(sum, now, scores.biases[i]);
    now = sum;
  }
  if (scores.wish == Scores::Wish::kScores) {
    std::string wanted = now;
    if (!scores.visible.empty()) {
      number("no_score", 0.0F);
      add("visible_scores = Where(" + scores.visible + ", " + now + ", no_score)");
      wanted = "visible_scores";
    }
    narrow(scores.qk, wanted);
  }
  if (!scores.visible.empty()) {
    number("lowest", kLowest);
    add("masked = Where(" + scores.visible + ", " + now + ", lowest)");
    now = "masked";
  }
  if (scores.wish == Scores::Wish::kMaskedScores) narrow(scores.qk, now);
  if (scores.sink.empty()) {
    add("weights_by_head = Softmax<axis = -1>(" + now + ")");
  } else {
    add("score_shape = Shape(" + now + ")");
    ints("three_axes", {3});
    add("row_shape = Slice(score_shape, i0, three_axes)");
    add("column_shape = Concat<axis = 0>(row_shape, i1)");
    add("sink_column = Expand(" + scores.sink + ", column_shape)");
    add("scores_and_sink = Concat<axis = 3>(" + now + ", sink_column)");
    add("weights_and_sink = Softmax<axis = -1>(scores_and_sink)");
    slice("weights_by_head", "weights_and_sink", "i0", "keys", 3);
  }
  if (scores.wish == Scores::Wish::kWeights) narrow(scores.qk, "weights_by_head");
  reshape("weights_by_group", "weights_by_head", std::vector<std::string>{"groups", "keys"});
  add("mixed = MatMul(weights_by_group, " + v + ")");
  reshape("mixed_heads", "mixed", std::vector<std::string>{"by_head", "queries", "rest"});
}

void AttentionBody::causal(const std::string& to, const std::string& q, const std::string& k) {
  extent("own_queries", q, 2);
  extent("all_keys", k, 2);
  count("key_numbers", "all_keys");
  count("query_numbers", "own_queries");
  add("before = Sub(all_keys, own_queries)");
  add("query_places = Add(query_numbers, before)");
  unsqueeze("query_column", "query_places", {1});
  add("behind = Greater(key_numbers, query_column)");
  add(to + " = Not(behind)");
}

bool AttentionBody::add_mask(const std::string& mask, const BodyContext& context, int slot,
                             const std::string& k, std::vector<std::string>& biases) {
  const int rank = rank_of(context, slot);
  if (rank < 1 || rank > 3) {
    return refuse(rank < 0 ? "the rank of " + mask + " is not known before the run"
                           : mask + ": expected rank 1 to 3, found " + std::to_string(rank));
  }
  number("filter", float_of(context, "mask_filter_value", -10000.0F));
  number("no_filter", 0.0F);
  if (rank == 1) {
    extent("keys_of_mask", k, 2);
    count("mask_numbers", "keys_of_mask");
    add("wide_lengths = Cast<to = 7>(" + mask + ")");
    const MaskForm form = form_of_mask(extent_of(context, slot, 0), extent_of(context, 0, 0));
    extent("batch", k, 0);
    slice("row_ends", "wide_lengths", "i0", "batch", 0);
    unsqueeze("lengths_column", "row_ends", {1});
    if (form == MaskForm::kEnds) {
      add("is_kept = Less(mask_numbers, lengths_column)");
    } else {
      // Zeros are appended to the mask as starts, in case it has ends only.
      number("first_key", int64_t{0});
      add_lines(R"(
        mask_length = Shape(wide_lengths)
        no_starts = Expand(first_key, batch)
        mask_and_zeros = Concat<axis = 0>(wide_lengths, no_starts)
        two_batches = Add(batch, batch)
        has_starts = Equal(mask_length, two_batches))");
      slice("second_part", "mask_and_zeros", "batch", "two_batches", 0);
      add("row_starts = Where(has_starts, second_part, no_starts)");
      unsqueeze("starts_column", "row_starts", {1});
      add_lines(R"(
        is_before_end = Less(mask_numbers, lengths_column)
        is_before_start = Less(mask_numbers, starts_column)
        is_behind_start = Not(is_before_start)
        is_kept = And(is_before_end, is_behind_start))");
    }
  } else {
    number("nothing", int64_t{0});
    add("wide_mask = Cast<to = 7>(" + mask + ")");
    add("is_kept = Greater(wide_mask, nothing)");
  }
  add("flat_mask_bias = Where(is_kept, no_filter, filter)");
  unsqueeze("mask_bias", "flat_mask_bias",
            rank == 3 ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 2});
  biases.emplace_back("mask_bias");
  return true;
}

}  // namespace gantry

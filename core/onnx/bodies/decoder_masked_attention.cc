// SPDX-License-Identifier: Apache-2.0
// DecoderMaskedMultiHeadAttention of com.microsoft: one token of each row, whose caches have room
// for all tokens to come.
#include <string>
#include <vector>

#include "onnx/bodies/attention_body.h"

namespace gantry {
namespace {

enum Inputs : int {
  kQuery,
  kKey,
  kValue,
  kMask,
  kScoreBias,
  kPastKey,
  kPastValue,
  kPastLength,
  kBeamWidth,
  kIndirection,
  kBias
};

std::string refusal(const BodyContext& context) {
  if (type_of(context, kQuery) == 0) return kTypeUnknown;
  if (rank_of(context, kQuery) != 3 || !context.hasInput(kKey) || !context.hasInput(kValue))
    return "expected a query of known rank 3 with key and value";
  const int key_rank = rank_of(context, kKey);
  if (key_rank != 3 && key_rank != 4) return "key: expected a known rank of 3 or 4";
  const bool is_cross = key_rank == 4;
  if (is_cross == context.hasInput(kPastKey) || is_cross == context.hasInput(kPastValue))
    return "expected either past_key and past_value, or keys of another sequence, of rank 4";
  if (is_cross && context.hasInput(kScoreBias))
    return "an attention_bias with keys of another sequence";
  if (is_cross) return "";
  if (int_of(context, "past_present_share_buffer", 0) == 0 || !context.hasInput(kPastLength))
    return "expected past_present_share_buffer 1 and a past_sequence_length";
  if (context.hasInput(kIndirection) && !context.hasInput(kBeamWidth))
    return "cache_indirection: expected a beam_width";
  if (context.hasInput(kIndirection) && context.hasInput(kScoreBias) &&
      extent_of(context, kScoreBias, 0) != 1)
    return "cache_indirection with an attention_bias for each row";
  return "";
}

// Writes the new token of each row into the cache behind `past_count` tokens, and makes what the
// token sees of it.
class DecoderCache {
 public:
  DecoderCache(AttentionBody& body, const BodyContext& context)
      : body_(body), has_beams_(context.hasInput(kIndirection)) {
    body_.add("past_length = Cast<to = 7>(past_sequence_length)");
    body_.reshape("past_count", "past_length", std::vector<int64_t>{1});
    body_.unsqueeze("new_place", "past_count", {0, 1, 2});
    body_.add("all_count = Add(past_count, i1)");
    if (has_beams_) find_sources();
  }

  // `present_NAME` and `seen_NAME` of `past_NAME` and the new tokens, [batch, heads, 1, width].
  void store(const std::string& name, const std::string& fresh) {
    const std::string p = name + "_";
    body_.add(p + "new_shape = Shape(" + fresh + ")");
    body_.add(p + "places = Expand(new_place, " + p + "new_shape)");
    body_.add("present_" + name + " = ScatterElements<axis = 2>(past_" + name + ", " + p +
              "places, " + fresh + ")");
    if (!has_beams_) return body_.slice("seen_" + name, "present_" + name, "i0", "all_count", 2);
    body_.slice(p + "used", "past_" + name, "i0", "past_count", 2);
    body_.transpose(p + "by_token", p + "used");
    body_.add(p + "extents = Shape(" + p + "by_token)");
    body_.ints(p + "two", {2});
    body_.add(p + "token_extents = Slice(" + p + "extents, " + p + "two, end)");
    body_.reshape(p + "flat", p + "by_token",
                  std::vector<std::string>{"rest", p + "token_extents"});
    body_.add(p + "of_beams = Gather<axis = 0>(" + p + "flat, sources)");
    body_.transpose(p + "by_head", p + "of_beams");
    body_.join("seen_" + name, p + "by_head", fresh, 2);
  }

 private:
  // `sources`, [rows, past], the token that a row has at each place, as one number for the row that
  // it was computed in and the place. `cache_indirection` has the beam of the row's batch.
  void find_sources() {
    body_.extent("capacity", "past_key", 2);
    body_.extent("rows", "query", 0);
    body_.add("wide_beams = Cast<to = 7>(beam_width)");
    body_.reshape("beams", "wide_beams", std::vector<int64_t>{1});
    body_.add("wide_indirection = Cast<to = 7>(cache_indirection)");
    body_.reshape("beam_at", "wide_indirection", std::vector<std::string>{"rows", "capacity"});
    body_.slice("beam_at_past", "beam_at", "i0", "past_count", 1);
    body_.count("row_numbers", "rows");
    body_.count("places", "past_count");
    body_.add_lines(R"(
      batch_numbers = Div(row_numbers, beams)
      first_of_batch = Mul(batch_numbers, beams))");
    body_.unsqueeze("first_row", "first_of_batch", {1});
    body_.add_lines(R"(
      source_row = Add(beam_at_past, first_row)
      first_token = Mul(source_row, past_count)
      sources = Add(first_token, places))");
  }

  AttentionBody& body_;
  bool has_beams_;
};

}  // namespace

bool build_decoder_masked(const BodyContext& context, const onnx::OpSchema& schema,
                          onnx::FunctionProto& function) {
  AttentionBody body(function, context);
  if (body.heads() < 1) return body.refuse("expected num_heads of 1 or more");
  if (std::string why = refusal(context); !why.empty()) return body.refuse(why);
  const bool is_cross = rank_of(context, kKey) == 4;
  std::string parts[3];
  body.split_projections(is_cross ? 1 : 3, context.hasInput(kBias), parts);
  if (!is_cross) {
    DecoderCache cache(body, context);
    cache.store("key", parts[1]);
    cache.store("value", parts[2]);
    parts[1] = "seen_key";
    parts[2] = "seen_value";
  }
  body.widen("wide_q", parts[0]);
  body.widen("wide_k", parts[1]);
  body.widen("wide_v", parts[2]);
  AttentionBody::Scores scores;
  scores.scale = float_of(context, "scale", 0);
  if (context.hasInput(kMask) &&
      !body.add_mask("mask_index", context, kMask, "wide_k", scores.biases))
    return false;
  if (context.hasInput(kScoreBias)) {
    body.widen("wide_bias", "attention_bias");
    scores.biases.emplace_back("wide_bias");
  }
  if (context.hasOutput(3)) {
    scores.wish = AttentionBody::Scores::Wish::kMaskedScores;
    scores.qk = "qk";
    if (int_of(context, "output_qk", 0) == 0) return body.refuse("output qk: expected output_qk 1");
  }
  body.attend("wide_q", "wide_k", "wide_v", scores);
  schema.BuildFunction(function);
  return true;
}

}  // namespace gantry

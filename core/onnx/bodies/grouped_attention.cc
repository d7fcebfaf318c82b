// SPDX-License-Identifier: Apache-2.0
// GroupQueryAttention of com.microsoft.
#include <string>
#include <vector>

#include "onnx/bodies/attention_body.h"

namespace gantry {
namespace {

// Inputs of GroupQueryAttention: grouped query heads that share a key head, with a cache.
enum Grouped : int {
  kCacheKey = 3,
  kCacheValue,
  kLengths,
  kTotal,
  kCos,
  kSin,
  kPlaces,
  kGroupBias,
  kSink,
  kFirstUnknown,
  kMostGrouped = 16
};

// The reason why a node has no body; "": it has one.
std::string refusal_of_group(const BodyContext& context) {
  for (int input = kFirstUnknown; input < kMostGrouped; ++input) {
    if (context.hasInput(input)) {
      return "input " + std::to_string(input) +
             " (scales of a quantized cache, weights of norms) is not supported";
    }
  }
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    const onnx::AttributeProto* type = context.getAttribute(name);
    if (type && type->s() != "NONE")
      return std::string(name) + " \"" + type->s() + "\": quantized caches are not supported";
  }
  const int64_t wish = int_of(context, "qk_output", 0);
  if (int_of(context, "sliding_window_cache", 0) != 0)
    return "sliding_window_cache is not supported";
  if (wish < 0 || wish > 2 || context.hasOutput(3) != (wish != 0))
    return "qk_output: expected 0, or 1 or 2 and output 3, found " + std::to_string(wish);
  if (int_of(context, "kv_num_heads", 0) < 1 || int_of(context, "num_heads", 0) < 1)
    return "expected num_heads and kv_num_heads of 1 or more";
  if (type_of(context, 0) == 0) return kTypeUnknown;
  if (rank_of(context, 0) != 3) return "query: expected a known rank of 3";
  if (context.hasInput(kCacheKey) != context.hasInput(kCacheValue))
    return "expected past_key and past_value, or neither";
  if (context.hasInput(1) != context.hasInput(2)) return "expected key and value, or neither";
  if (int_of(context, "do_rotary", 0) != 0 && !(context.hasInput(kCos) && context.hasInput(kSin)))
    return "do_rotary: expected cos_cache and sin_cache";
  return "";
}

// Adds q_parts, k_parts, v_parts: [batch, length, heads, width] in float32.
void part_grouped(AttentionBody& body, const BodyContext& context) {
  if (context.hasInput(1)) {
    const char* const names[] = {"query", "key", "value"};
    for (int i = 0; i < 3; ++i) {
      const std::string letter(1, "qkv"[i]);
      body.widen("wide_" + letter, names[i]);
      body.part_heads(letter + "_parts", "wide_" + letter, i == 0 ? body.heads() : body.kv_heads());
    }
    return;
  }
  body.widen("wide_q", "query");
  body.part_heads("all_parts", "wide_q", body.heads() + 2 * body.kv_heads());
  body.ints("k_begin", {body.heads()});
  body.ints("v_begin", {body.heads() + body.kv_heads()});
  body.slice("q_parts", "all_parts", "i0", "k_begin", 2);
  body.slice("k_parts", "all_parts", "k_begin", "v_begin", 2);
  body.slice("v_parts", "all_parts", "v_begin", "end", 2);
}

// Adds `places`, [batch, length]: positions of the new keys in the cache, and `total`: number of
// keys of the longest batch row.
void place_new_keys(AttentionBody& body) {
  body.extent("length", "query", 1);
  body.add("wide_total = Cast<to = 7>(total_sequence_length)");
  body.reshape("total", "wide_total", std::vector<int64_t>{1});
  body.add("wide_lengths = Cast<to = 7>(seqlens_k)");
  body.reshape("last_keys", "wide_lengths", std::vector<int64_t>{-1, 1});
  body.add("ends = Add(last_keys, i1)");
  body.add("behind_past = Sub(ends, length)");
  body.add("is_prompt = Equal(length, total)");
  body.add("starts = Where(is_prompt, i0, behind_past)");
  body.count("steps", "length");
  body.add("places = Add(starts, steps)");
}

// Adds `present`: the past keys or values with the new ones, [batch, kv_heads, length, width].
void update_cache(AttentionBody& body, const std::string& name, const std::string& fresh,
                  bool has_past) {
  const std::string p = name + "_";
  body.narrow(p + "fresh", fresh);
  body.extent(p + "batch", p + "fresh", 0);
  body.extent(p + "heads", p + "fresh", 1);
  body.extent(p + "width", p + "fresh", 3);
  body.number(p + "nothing_wide", 0.0F);
  body.narrow(p + "nothing", p + "nothing_wide");
  if (has_past) {
    body.extent(p + "before", "past_" + name, 2);
    body.add(p + "after = Max(" + p + "before, total)");
    body.add(p + "missing = Sub(" + p + "after, " + p + "before)");
  }
  const std::string missing = has_past ? p + "missing" : "total";
  body.add(p + "room_shape = Concat<axis = 0>(" + p + "batch, " + p + "heads, " + missing + ", " +
           p + "width)");
  body.add(p + "room = Expand(" + p + "nothing, " + p + "room_shape)");
  std::string base = p + "room";
  if (has_past) {
    body.add(p + "base = Concat<axis = 2>(past_" + name + ", " + p + "room)");
    base = p + "base";
  }
  body.unsqueeze(p + "places", "places", {1, 3});
  body.add(p + "fresh_shape = Shape(" + p + "fresh)");
  body.add(p + "indices = Expand(" + p + "places, " + p + "fresh_shape)");
  body.add("present_" + name + " = ScatterElements<axis = 2>(" + base + ", " + p + "indices, " + p +
           "fresh)");
  body.slice(p + "used", "present_" + name, "i0", "total", 2);
  body.widen("wide_" + name, p + "used");
}

}  // namespace

bool build_grouped(const BodyContext& context, const onnx::OpSchema& schema,
                   onnx::FunctionProto& function) {
  if (std::string why = refusal_of_group(context); !why.empty())
    return refuse(function, std::move(why));
  AttentionBody body(function, context);
  part_grouped(body, context);
  place_new_keys(body);
  std::string q = "q_parts";
  std::string k = "k_parts";
  if (int_of(context, "do_rotary", 0) != 0) {
    const bool is_interleaved = int_of(context, "rotary_interleaved", 0) != 0;
    const std::string places = context.hasInput(kPlaces) ? "position_ids" : "places";
    body.rotate("q_turned", q, places, is_interleaved);
    body.rotate("k_turned", k, places, is_interleaved);
    q = "q_turned";
    k = "k_turned";
  }
  body.turn("q_heads", q);
  body.turn("k_heads", k);
  body.turn("v_heads", "v_parts");
  const bool has_past = context.hasInput(kCacheKey);
  update_cache(body, "key", "k_heads", has_past);
  update_cache(body, "value", "v_heads", has_past);

  body.count("key_numbers", "total");
  body.unsqueeze("own_places", "places", {1, 3});
  if (int_of(context, "causal", 1) != 0) {
    body.add("behind = Greater(key_numbers, own_places)");
  } else {
    body.unsqueeze("last_places", "last_keys", {2, 3});
    body.add("behind = Greater(key_numbers, last_places)");
  }
  body.add("visible = Not(behind)");
  std::string visible = "visible";
  const int64_t window = int_of(context, "local_window_size", -1);
  if (window >= 0) {
    body.number("window", window);
    body.add("too_old = Sub(own_places, window)");
    body.add("is_near = Greater(key_numbers, too_old)");
    body.add("visible_and_near = And(visible, is_near)");
    visible = "visible_and_near";
  }
  AttentionBody::Scores scores;
  scores.scale = float_of(context, "scale", 0);
  if (context.hasInput(kGroupBias)) {
    body.widen("wide_bias", "attention_bias");
    scores.biases.emplace_back("wide_bias");
  }
  scores.softcap = float_of(context, "softcap", 0);
  scores.visible = visible;
  if (context.hasInput(kSink)) {
    body.widen("wide_sink", "head_sink");
    body.unsqueeze("sink", "wide_sink", {1, 2});
    scores.sink = "sink";
  } else if (int_of(context, "smooth_softmax", 0) > 0) {
    body.number("sink", 0.0F);
    scores.sink = "sink";
  }
  const int64_t wish = int_of(context, "qk_output", 0);
  if (wish != 0) {
    scores.wish =
        wish == 1 ? AttentionBody::Scores::Wish::kScores : AttentionBody::Scores::Wish::kWeights;
    scores.qk = "qk";
    // In batch rows with padding, keys after the row's last key are not visible.
    body.unsqueeze("last_visible", "last_keys", {2, 3});
    body.add("is_behind_last = Greater(key_numbers, last_visible)");
    body.add("is_not_behind_last = Not(is_behind_last)");
    body.add("visible_in_row = And(" + visible + ", is_not_behind_last)");
    scores.visible = "visible_in_row";
  }
  body.attend("q_heads", "wide_key", "wide_value", scores);
  schema.BuildFunction(function);
  return true;
}

}  // namespace gantry

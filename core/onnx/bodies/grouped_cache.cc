// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/grouped_cache.h"

#include <onnx/onnx_pb.h>
#include <utility>
#include <vector>

namespace gantry {
namespace {

constexpr int64_t kNibbles = 4;

std::string text_of(const BodyContext& context, const char* name) {
  const onnx::AttributeProto* found = context.getAttribute(name);
  return found ? found->s() : "NONE";
}

int64_t bits_of(const BodyContext& context) {
  return text_of(context, "k_quant_type") == "NONE" ? 0 : int_of(context, "kv_cache_bit_width", 0);
}

int type_of_cache(int64_t bits) {
  return bits == kNibbles ? onnx::TensorProto::UINT8 : onnx::TensorProto::INT8;
}

std::string refusal_of_codes(const BodyContext& context) {
  const std::string kind = text_of(context, "k_quant_type");
  const int64_t bits = int_of(context, "kv_cache_bit_width", 0);
  if (kind != text_of(context, "v_quant_type"))
    return "k_quant_type and v_quant_type: expected the same";
  if (kind == "NONE") return bits == 0 ? "" : "kv_cache_bit_width: expected a k_quant_type";
  if (kind != "PER_TENSOR" && kind != "PER_CHANNEL")
    return "k_quant_type: expected NONE, PER_TENSOR or PER_CHANNEL, found \"" + kind + "\"";
  if (bits != 8 && bits != kNibbles)
    return "kv_cache_bit_width: expected 4 or 8, found " + std::to_string(bits);
  if (!context.hasInput(GroupedCache::kKeyScale) || !context.hasInput(GroupedCache::kValueScale))
    return "a quantized cache: expected k_scale and v_scale";
  for (const int past : {GroupedCache::kPastKey, GroupedCache::kPastValue}) {
    if (type_of(context, past) != type_of_cache(bits)) {
      return "a quantized cache of " + std::to_string(bits) + " bits: expected past_key of " +
             (bits == kNibbles ? "uint8" : "int8");
    }
  }
  const int64_t heads = int_of(context, "num_heads", 0) +
                        (context.hasInput(1) ? 0 : 2 * int_of(context, "kv_num_heads", 0));
  if (const int64_t features = extent_of(context, 0, 2);
      bits == kNibbles && features > 0 && heads > 0 && features / heads % 2 != 0)
    return "a cache of 4 bits: expected heads of an even width";
  return "";
}

}  // namespace

GroupedCache::GroupedCache(AttentionBody& body, const BodyContext& context)
    : body_(body),
      has_past_(context.hasInput(kPastKey)),
      is_window_(int_of(context, "sliding_window_cache", 0) != 0),
      is_by_channel_(text_of(context, "k_quant_type") == "PER_CHANNEL"),
      window_(int_of(context, "local_window_size", -1)),
      bits_(bits_of(context)) {}

std::string GroupedCache::refusal_of(const BodyContext& context) {
  enum : int { kBias = 10, kScores = 3 };
  if (context.hasInput(kPastKey) != context.hasInput(kPastValue))
    return "expected past_key and past_value, or neither";
  if (std::string why = refusal_of_codes(context); !why.empty()) return why;
  if (int_of(context, "sliding_window_cache", 0) == 0) return "";
  if (int_of(context, "local_window_size", -1) < 1 || int_of(context, "causal", 1) == 0)
    return "sliding_window_cache: expected a local_window_size of 1 or more, and causal";
  if (!context.hasInput(kPastKey)) return "sliding_window_cache: expected past_key and past_value";
  if (context.hasInput(kBias) || context.hasOutput(kScores))
    return "sliding_window_cache with an attention_bias or the scores as an output";
  return "";
}

void GroupedCache::update(const std::string& keys, const std::string& values) {
  if (is_window_) {
    locate_window_rows();
  } else {
    body_.count("key_positions", "total");
  }
  for (const auto& [name, fresh] : {std::pair("key", keys), std::pair("value", values)}) {
    if (bits_ != 0) load_scale(name);
    encode(std::string(name) + "_fresh", fresh, name);
    if (is_window_) {
      slide(name, std::string(name) + "_fresh");
    } else {
      append(name, std::string(name) + "_fresh");
    }
  }
}

// The new rows behind those of each row of the batch, in a cache of at least `total` rows.
void GroupedCache::append(const std::string& name, const std::string& fresh) {
  const std::string p = name + "_";
  body_.extent(p + "batch", fresh, 0);
  body_.extent(p + "heads", fresh, 1);
  body_.extent(p + "width", fresh, 3);
  body_.number(p + "nothing_wide", 0.0F);
  if (bits_ == 0) {
    body_.narrow(p + "nothing", p + "nothing_wide");
  } else {
    body_.add(p + "nothing" + cast_to(type_of_cache(bits_)) + p + "nothing_wide)");
  }
  if (has_past_) {
    body_.extent(p + "before", "past_" + name, 2);
    body_.add(p + "after = Max(" + p + "before, total)");
    body_.add(p + "missing = Sub(" + p + "after, " + p + "before)");
  }
  const std::string missing = has_past_ ? p + "missing" : "total";
  body_.add(p + "room_shape = Concat<axis = 0>(" + p + "batch, " + p + "heads, " + missing + ", " +
            p + "width)");
  body_.add(p + "room = Expand(" + p + "nothing, " + p + "room_shape)");
  std::string base = p + "room";
  if (has_past_) {
    body_.add(p + "base = Concat<axis = 2>(past_" + name + ", " + p + "room)");
    base = p + "base";
  }
  body_.unsqueeze(p + "rows_of_new", "positions", {1, 3});
  body_.add(p + "fresh_shape = Shape(" + fresh + ")");
  body_.add(p + "indices = Expand(" + p + "rows_of_new, " + p + "fresh_shape)");
  body_.add("present_" + name + " = ScatterElements<axis = 2>(" + base + ", " + p + "indices, " +
            fresh + ")");
  body_.slice(p + "used", "present_" + name, "i0", "total", 2);
  decode("wide_" + name, p + "used", name);
}

// How many tokens a cache of `capacity` rows holds of so many: all of them, until it is full; then
// `gap` of the oldest leave it at a time.
void GroupedCache::resident(const std::string& to, const std::string& tokens) {
  const std::string p = to + "_";
  body_.add(p + "excess = Sub(" + tokens + ", capacity)");
  body_.add(p + "overflow = Max(" + p + "excess, i0)");
  body_.add(p + "next = Add(" + p + "overflow, gap_less_one)");
  body_.add(p + "evictions = Div(" + p + "next, gap)");
  body_.add(p + "evicted = Mul(" + p + "evictions, gap)");
  body_.add(to + " = Sub(" + tokens + ", " + p + "evicted)");
}

// Rows [0, held) of a cache of the last tokens are those before `behind_past`, in order. Attention
// is computed over all its rows and the new ones, and the last `kept` of them are the new cache.
void GroupedCache::locate_window_rows() {
  body_.extent("capacity", "past_key", 2);
  body_.ints("window_less_one", {window_ - 1});
  body_.add_lines(R"(
    slack = Sub(capacity, window_less_one)
    gap = Max(slack, i1)
    gap_less_one = Sub(gap, i1))");
  resident("held", "behind_past");
  resident("kept", "ends");
  body_.count("cache_rows", "capacity");
  body_.add_lines(R"(
    first_held = Sub(behind_past, held)
    held_positions = Add(first_held, cache_rows)
    all_positions = Concat<axis = 1>(held_positions, positions)
    is_held = Less(cache_rows, held)
    is_new = Equal(positions, positions)
    is_resident = Concat<axis = 1>(is_held, is_new)
    first_kept = Sub(ends, kept)
    kept_positions = Add(first_kept, cache_rows)
    row_of_held = Sub(kept_positions, first_held)
    number_of_new = Sub(kept_positions, behind_past)
    row_of_new = Add(number_of_new, capacity)
    was_held = Less(kept_positions, behind_past)
    row_kept = Where(was_held, row_of_held, row_of_new)
    all_count = Add(capacity, length)
    last_row = Sub(all_count, i1)
    row_kept_or_last = Min(row_kept, last_row))");
  body_.unsqueeze("key_positions", "all_positions", {1, 2});
  body_.unsqueeze("is_present", "is_resident", {1, 2});
  body_.unsqueeze("source_rows", "row_kept_or_last", {1});
  body_.extent("cache_batch", "past_key", 0);
  body_.ints("cache_heads", {body_.kv_heads()});
  body_.add("head_count = Mul(cache_batch, cache_heads)");
  body_.count("head_numbers", "head_count");
  body_.reshape("heads_of_batch", "head_numbers",
                std::vector<std::string>{"cache_batch", "cache_heads", "i1"});
  body_.add("first_rows = Mul(heads_of_batch, all_count)");
  body_.add("gathered_rows = Add(first_rows, source_rows)");
}

void GroupedCache::slide(const std::string& name, const std::string& fresh) {
  const std::string p = name + "_";
  body_.join(p + "all", "past_" + name, fresh, 2);
  body_.extent(p + "row_width", p + "all", 3);
  body_.reshape(p + "flat", p + "all", std::vector<std::string>{"rest", p + "row_width"});
  body_.add("present_" + name + " = Gather(" + p + "flat, gathered_rows)");
  decode("wide_" + name, p + "all", name);
}

// `key_scale` or `value_scale`, which broadcasts to [batch, kv_heads, rows, width].
void GroupedCache::load_scale(const std::string& name) {
  const std::string input = name.substr(0, 1) + "_scale";
  const int64_t heads = is_by_channel_ ? body_.kv_heads() : 1;
  body_.widen(name + "_scale_wide", input);
  body_.reshape(name + "_scale", name + "_scale_wide", std::vector<int64_t>{1, heads, 1, -1});
}

void GroupedCache::encode(const std::string& to, const std::string& from, const std::string& name) {
  if (bits_ == 0) return body_.narrow(to, from);
  const std::string p = to + "_";
  const float most = bits_ == kNibbles ? 7.0F : 127.0F;
  body_.number(p + "lowest", -most - 1);
  body_.number(p + "highest", most);
  body_.narrow(p + "narrow", from);  // rounded to the type of the queries, as rotation leaves it
  body_.widen(p + "wide", p + "narrow");
  body_.add(p + "ratio = Div(" + p + "wide, " + name + "_scale)");
  body_.add(p + "rounded = Round(" + p + "ratio)");
  body_.add(p + "codes = Clip(" + p + "rounded, " + p + "lowest, " + p + "highest)");
  std::string codes = p + "codes";
  if (bits_ == kNibbles) {
    body_.number(p + "middle", 8.0F);
    body_.number(p + "sixteen", 16.0F);
    body_.add(p + "nibbles = Add(" + codes + ", " + p + "middle)");
    body_.reshape(p + "pairs", p + "nibbles", std::vector<int64_t>{0, 0, 0, -1, 2});
    body_.pick(p + "low", p + "pairs", 0, 4);
    body_.pick(p + "high", p + "pairs", 1, 4);
    body_.add(p + "shifted = Mul(" + p + "high, " + p + "sixteen)");
    body_.add(p + "bytes = Add(" + p + "low, " + p + "shifted)");
    codes = p + "bytes";
  }
  body_.add(to + cast_to(type_of_cache(bits_)) + codes + ")");
}

void GroupedCache::decode(const std::string& to, const std::string& codes,
                          const std::string& name) {
  if (bits_ == 0) return body_.widen(to, codes);
  const std::string p = to + "_";
  body_.widen(p + "codes", codes);
  std::string numbers = p + "codes";
  if (bits_ == kNibbles) {
    body_.number(p + "sixteen", 16.0F);
    body_.number(p + "middle", 8.0F);
    body_.add(p + "sixteenth = Div(" + numbers + ", " + p + "sixteen)");
    body_.add(p + "high = Floor(" + p + "sixteenth)");
    body_.add(p + "shifted = Mul(" + p + "high, " + p + "sixteen)");
    body_.add(p + "low = Sub(" + numbers + ", " + p + "shifted)");
    body_.unsqueeze(p + "low_of_pair", p + "low", {4});
    body_.unsqueeze(p + "high_of_pair", p + "high", {4});
    body_.join(p + "pairs", p + "low_of_pair", p + "high_of_pair", 4);
    body_.reshape(p + "nibbles", p + "pairs", std::vector<int64_t>{0, 0, 0, -1});
    body_.add(p + "numbers = Sub(" + p + "nibbles, " + p + "middle)");
    numbers = p + "numbers";
  }
  body_.add(to + " = Mul(" + numbers + ", " + name + "_scale)");
}

}  // namespace gantry

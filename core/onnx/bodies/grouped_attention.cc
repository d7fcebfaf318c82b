// SPDX-License-Identifier: Apache-2.0
// GroupQueryAttention and SparseAttention of com.microsoft: heads of queries that share keys.
#include <onnx/onnx_pb.h>
#include <string>
#include <utility>
#include <vector>

#include "onnx/bodies/attention_body.h"

namespace gantry {
namespace {

// The caches of a node: whole or of the last tokens alone, of floats or quantized.
class GroupedCache {
 public:
  /// Inputs of the operator.
  enum Input : int { kPastKey = 3, kPastValue, kKeyScale = 12, kValueScale };

  GroupedCache(AttentionBody& body, const BodyContext& context);

  /// Why a node's caches have no body; "": they have one.
  static std::string refusal_of(const BodyContext& context);

  /// Writes `present_key`, `present_value`, the keys and values to attend to, `wide_key` and
  /// `wide_value`, and `key_positions`, which broadcasts to [batch, 1, 1, keys]; where
  /// `has_absent_keys`, also `is_present` of that shape. Needs new keys and values in f32, [batch,
  /// kv_heads, length, width], and of the body `positions` of the new tokens, [batch, length],
  /// `behind_past` and `ends`, the tokens of each row before and after, [batch, 1], `length`, and
  /// `total`, the most of `ends`.
  void update(const std::string& keys, const std::string& values);
  [[nodiscard]] bool has_absent_keys() const { return is_window_; }

 private:
  void resident(const std::string& to, const std::string& tokens);
  void locate_window_rows();
  void append(const std::string& name, const std::string& fresh);
  void slide(const std::string& name, const std::string& fresh);
  void load_scale(const std::string& name);
  void encode(const std::string& to, const std::string& from, const std::string& name);
  void decode(const std::string& to, const std::string& codes, const std::string& name);

  AttentionBody& body_;
  bool has_past_;
  bool is_window_;
  bool is_by_channel_;
  int64_t window_;
  int64_t bits_;  // of a quantized cache; 0: the type of the queries
};

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

// GroupQueryAttention: queries in groups that share a head of keys, a cache of keys and values.
enum Grouped : int { kCos = 7, kSin, kPositions, kGroupBias, kSink, kQueryNorm = 14, kKeyNorm };

// Why a node has no body; "": it has one.
std::string refusal_of_group(const BodyContext& context) {
  if (context.hasInput(kQueryNorm) || context.hasInput(kKeyNorm))
    return "weights of norms of queries and keys are not supported";
  const int64_t wish = int_of(context, "qk_output", 0);
  if (wish < 0 || wish > 2 || context.hasOutput(3) != (wish != 0))
    return "qk_output: expected 0, or 1 or 2 and output 3, found " + std::to_string(wish);
  if (int_of(context, "kv_num_heads", 0) < 1 || int_of(context, "num_heads", 0) < 1)
    return "expected num_heads and kv_num_heads of 1 or more";
  if (type_of(context, 0) == 0) return kTypeUnknown;
  if (rank_of(context, 0) != 3) return "query: expected a known rank of 3";
  if (context.hasInput(1) != context.hasInput(2)) return "expected key and value, or neither";
  if (int_of(context, "do_rotary", 0) != 0 && !(context.hasInput(kCos) && context.hasInput(kSin)))
    return "do_rotary: expected cos_cache and sin_cache";
  return GroupedCache::refusal_of(context);
}

// q_parts, k_parts, v_parts: [batch, length, heads, width] in f32.
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

// `positions`, [batch, length], of the new tokens; `behind_past` and `ends`, [batch, 1], the tokens
// before them and with them; `total`: `ends` of the longest row. `lengths`: an input that says
// `ends`, or one less.
void locate_new_tokens(AttentionBody& body, const std::string& lengths, bool is_one_less) {
  body.extent("length", "query", 1);
  body.add("wide_total = Cast<to = 7>(total_sequence_length)");
  body.reshape("total", "wide_total", std::vector<int64_t>{1});
  body.add("wide_lengths = Cast<to = 7>(" + lengths + ")");
  body.reshape("row_lengths", "wide_lengths", std::vector<int64_t>{-1, 1});
  body.add(is_one_less ? "ends = Add(row_lengths, i1)" : "ends = Identity(row_lengths)");
  body.add("last_keys = Sub(ends, i1)");
  body.add("behind_past = Sub(ends, length)");
  body.add("is_prompt = Equal(length, total)");
  body.add("starts = Where(is_prompt, i0, behind_past)");
  body.count("steps", "length");
  body.add("positions = Add(starts, steps)");
}

// `q_heads`, `k_heads`, `v_heads`: [batch, heads, length, width], rotated if the node says so.
void rotate_heads(AttentionBody& body, const BodyContext& context, const std::string& positions) {
  std::string q = "q_parts";
  std::string k = "k_parts";
  if (int_of(context, "do_rotary", 0) != 0) {
    const bool is_interleaved = int_of(context, "rotary_interleaved", 0) != 0;
    body.rotate("q_turned", q, positions, is_interleaved);
    body.rotate("k_turned", k, positions, is_interleaved);
    q = "q_turned";
    k = "k_turned";
  }
  body.turn("q_heads", q);
  body.turn("k_heads", k);
  body.turn("v_heads", "v_parts");
}

// `is_block_visible`, [batch, heads, length, total], of the layouts that heads take cyclically: the
// columns of a row of blocks, one after the other, in which its queries see keys.
void find_visible_blocks(AttentionBody& body, int64_t block) {
  body.ints("block", {block});
  body.extent("layouts", "block_row_indices", 0);
  body.extent("row_ends", "block_row_indices", 1);
  body.add("rows = Sub(row_ends, i1)");
  body.extent("entries", "block_col_indices", 1);
  body.add("row_indices = Cast<to = 7>(block_row_indices)");
  body.add("column_indices = Cast<to = 7>(block_col_indices)");
  body.slice("row_begins_flat", "row_indices", "i0", "rows", 1);
  body.slice("row_ends_flat", "row_indices", "i1", "end", 1);
  body.unsqueeze("begin_of_row", "row_begins_flat", {2});
  body.unsqueeze("end_of_row", "row_ends_flat", {2});
  body.unsqueeze("column_of_entry", "column_indices", {2});
  body.count("entry_numbers", "entries");
  body.count("block_numbers", "rows");
  body.count("key_numbers", "total");
  body.count("head_numbers", "head_count");
  body.add_lines(R"(
    is_before_row = Less(entry_numbers, begin_of_row)
    is_not_before = Not(is_before_row)
    is_before_end = Less(entry_numbers, end_of_row)
    is_of_row = And(is_not_before, is_before_end)
    is_of_column = Equal(column_of_entry, block_numbers)
    of_row = Cast<to = 1>(is_of_row)
    of_column = Cast<to = 1>(is_of_column)
    blocks = MatMul(of_row, of_column)
    query_blocks = Div(positions, block)
    key_blocks = Div(key_numbers, block)
    of_queries = Gather<axis = 1>(blocks, query_blocks)
    of_keys = Gather<axis = 3>(of_queries, key_blocks)
    of_layouts = Transpose<perm = [1, 0, 2, 3]>(of_keys)
    layout_of_head = Mod(head_numbers, layouts)
    of_heads = Gather<axis = 1>(of_layouts, layout_of_head)
    is_block_visible = Cast<to = 9>(of_heads))");
}

}  // namespace

bool build_grouped(const BodyContext& context, const onnx::OpSchema& schema,
                   onnx::FunctionProto& function) {
  if (std::string why = refusal_of_group(context); !why.empty())
    return refuse(function, std::move(why));
  AttentionBody body(function, context);
  part_grouped(body, context);
  locate_new_tokens(body, "seqlens_k", true);
  rotate_heads(body, context, context.hasInput(kPositions) ? "position_ids" : "positions");
  GroupedCache cache(body, context);
  cache.update("k_heads", "v_heads");

  body.unsqueeze("own_positions", "positions", {1, 3});
  if (int_of(context, "causal", 1) != 0) {
    body.add("behind = Greater(key_positions, own_positions)");
  } else {
    body.unsqueeze("last_positions", "last_keys", {2, 3});
    body.add("behind = Greater(key_positions, last_positions)");
  }
  body.add("visible = Not(behind)");
  std::string visible = "visible";
  const int64_t window = int_of(context, "local_window_size", -1);
  if (window >= 0) {
    body.number("window", window);
    body.add("too_old = Sub(own_positions, window)");
    body.add("is_near = Greater(key_positions, too_old)");
    body.add("visible_and_near = And(visible, is_near)");
    visible = "visible_and_near";
  }
  if (cache.has_absent_keys()) {
    body.add("visible_and_present = And(" + visible + ", is_present)");
    visible = "visible_and_present";
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
    // Rows whose queries stand behind their last key see none of those queries' keys.
    body.unsqueeze("last_visible", "last_keys", {2, 3});
    body.add("is_behind_last = Greater(key_positions, last_visible)");
    body.add("is_not_behind_last = Not(is_behind_last)");
    body.add("visible_in_row = And(" + visible + ", is_not_behind_last)");
    scores.visible = "visible_in_row";
  }
  body.attend("q_heads", "wide_key", "wide_value", scores);
  schema.BuildFunction(function);
  return true;
}

bool build_sparse(const BodyContext& context, const onnx::OpSchema& schema,
                  onnx::FunctionProto& function) {
  enum : int { kCosines = 9, kSines };
  const int64_t block = int_of(context, "sparse_block_size", 0);
  if (block < 1 || int_of(context, "kv_num_heads", 0) < 1 || int_of(context, "num_heads", 0) < 1)
    return refuse(function, "expected sparse_block_size, num_heads and kv_num_heads of 1 or more");
  if (type_of(context, 0) == 0) return refuse(function, kTypeUnknown);
  if (rank_of(context, 0) != 3) return refuse(function, "query: expected a known rank of 3");
  if (context.hasInput(1) != context.hasInput(2))
    return refuse(function, "expected key and value, or neither");
  if (int_of(context, "do_rotary", 0) != 0 &&
      !(context.hasInput(kCosines) && context.hasInput(kSines)))
    return refuse(function, "do_rotary: expected cos_cache and sin_cache");
  AttentionBody body(function, context);
  part_grouped(body, context);
  locate_new_tokens(body, "key_total_sequence_lengths", false);
  rotate_heads(body, context, "positions");
  GroupedCache(body, context).update("k_heads", "v_heads");
  body.ints("head_count", {body.heads()});
  find_visible_blocks(body, block);
  body.unsqueeze("own_positions", "positions", {1, 3});
  body.add("behind = Greater(key_positions, own_positions)");
  body.add("is_not_behind = Not(behind)");
  body.add("visible = And(is_not_behind, is_block_visible)");
  AttentionBody::Scores scores;
  scores.scale = float_of(context, "scale", 0);
  scores.visible = "visible";
  body.attend("q_heads", "wide_key", "wide_value", scores);
  schema.BuildFunction(function);
  return true;
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// GroupQueryAttention and SparseAttention of com.microsoft: heads of queries that share keys.
#include <onnx/onnx_pb.h>
#include <string>
#include <utility>
#include <vector>

#include "onnx/bodies/attention_body.h"
#include "onnx/bodies/grouped_cache.h"

namespace gantry {
namespace {

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
      body.split_heads(letter + "_parts", "wide_" + letter,
                       i == 0 ? body.heads() : body.kv_heads());
    }
    return;
  }
  body.widen("wide_q", "query");
  body.split_heads("all_parts", "wide_q", body.heads() + 2 * body.kv_heads());
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
  body.transpose("q_heads", q);
  body.transpose("k_heads", k);
  body.transpose("v_heads", "v_parts");
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

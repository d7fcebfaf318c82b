// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/state_operators.h"

#include <string>

#include "onnx/bodies/body_text.h"

namespace gantry {
namespace {

constexpr int64_t kMostStates = 8;  // most states in a window

// The last state of a window of states, or the state itself.
void add_past(BodyText& body, const std::string& to, const std::string& past, int64_t window) {
  if (window == 0) {
    body.add(to + " = Identity(" + past + ")");
  } else {
    body.pick(to, past, window - 1, 0);
  }
}

// `slot`_state: the state of `whole` without its last `back` positions, padded with zeros.
void add_state_at(BodyText& body, const std::string& slot, int64_t back) {
  body.ints(slot + "_back", {back});
  body.add(slot + "_begin = Sub(length, " + slot + "_back)");
  body.add(slot + "_from = Max(" + slot + "_begin, zero)");
  body.add(slot + "_to = Add(" + slot + "_from, before)");
  body.slice(slot + "_part", "whole", slot + "_from", slot + "_to", 2);
  body.add(slot + "_is_there = Greater(" + slot + "_begin, zero)");
  body.add(slot + "_state = Where(" + slot + "_is_there, " + slot + "_part, nothing)");
}

// CausalConvWithState. Input and result [batch, channels, length]; `past` and states [batch,
// channels, before].
bool build_conv(const BodyContext& context, BodyText& body) {
  const onnx::AttributeProto* given = context.getAttribute("activation");
  const std::string activation = given ? given->s() : "none";
  const bool is_swish = activation == "silu" || activation == "swish";
  const bool is_last = int_of(context, "channels_last", 0) != 0;
  const int64_t dilation = int_of(context, "dilation", 1);
  const int64_t window = int_of(context, "state_window", 0);
  const int64_t channels = extent_of(context, 1, 0);
  const int64_t taps = extent_of(context, 1, 2);
  const int rank = rank_of(context, 0);
  if (int_of(context, "ndim", 1) != 1) return body.refuse("ndim: expected 1");
  if (!is_swish && activation != "none")
    return body.refuse("activation: expected none, silu or swish, found \"" + activation + "\"");
  if (dilation < 1 || window < 0 || window > kMostStates) {
    return body.refuse("expected a dilation of 1 or more, and a state_window up to " +
                       std::to_string(kMostStates));
  }
  if (channels < 1 || taps < 1) return body.refuse("weight: its extents are not known");
  if (rank < 3 || (!is_last && rank != 3))
    return body.refuse("input: expected a known rank of 3, or more with channels_last");
  const int64_t before = (taps - 1) * dilation;
  // Converts [batch, length, features ...] to [batch, channels, length].
  const auto inward = [&](const std::string& to, const std::string& tensor) {
    if (!is_last) return body.add(to + " = Identity(" + tensor + ")");
    body.reshape(to + "_rows", tensor, std::vector<int64_t>{0, 0, channels});
    body.add(to + " = Transpose<perm = [0, 2, 1]>(" + to + "_rows)");
  };
  body.ints("one", {1});
  body.ints("zero", {0});
  body.ints("end", {int64_t{1} << 62});
  body.number("nothing_in_floats", 0.0F);
  body.add("nothing = Cast<to = " + std::to_string(type_of(context, 0)) + ">(nothing_in_floats)");
  inward("x", "input");
  if (context.hasInput(3)) {
    add_past(body, "last_state", "past_state", window);
    if (before > 0) inward("past", "last_state");
  }
  if (!context.hasInput(3) || before == 0) {
    body.extent("batch", "input", 0);
    body.ints("state_extents", {channels, before});
    body.add("state_shape = Concat<axis = 0>(batch, state_extents)");
    body.add("past = Expand(nothing, state_shape)");
  }
  body.add("whole = Concat<axis = 2>(past, x)");
  body.add("sums = Conv<dilations = [" + std::to_string(dilation) +
           "], group = " + std::to_string(channels) +
           (context.hasInput(2) ? ">(whole, weight, bias)" : ">(whole, weight)"));
  std::string result = "sums";
  if (is_swish) {
    body.add("opening = Sigmoid(sums)");
    body.add("swish = Mul(sums, opening)");
    result = "swish";
  }
  if (is_last) {
    body.add("by_position = Transpose<perm = [0, 2, 1]>(" + result + ")");
    body.add("input_shape = Shape(input)");
    body.add("output = Reshape(by_position, input_shape)");
  } else {
    body.add("output = Identity(" + result + ")");
  }
  body.extent("length", "x", 2);
  body.ints("before", {before});
  if (is_last) {
    body.ints("two", {2});
    body.add("whole_input_shape = Shape(input)");
    body.add("features = Slice(whole_input_shape, two, end)");
    body.extent("rows", "input", 0);
    body.add("state_like_input = Concat<axis = 0>(rows, before, features)");
  }
  const auto outward = [&](const std::string& to, const std::string& state) {
    if (!is_last) return body.add(to + " = Identity(" + state + ")");
    body.add(to + "_rows = Transpose<perm = [0, 2, 1]>(" + state + ")");
    body.add(to + " = Reshape(" + to + "_rows, state_like_input)");
  };
  if (window == 0) {
    body.slice("state", "whole", "length", "end", 2);
    outward("present_state", "state");
    return true;
  }
  std::string slots;
  for (int64_t i = 0; i < window; ++i) {
    const std::string slot = "slot" + std::to_string(i);
    add_state_at(body, slot, window - 1 - i);
    outward(slot + "_outward", slot + "_state");
    body.unsqueeze(slot, slot + "_outward", {0});
    slots.append(slots.empty() ? "" : ", ").append(slot);
  }
  body.add("present_state = Concat<axis = 0>(" + slots + ")");
  return true;
}

// One step of the recurrence, in float32. State [batch, kv_heads, key width, value width], q
// [batch, kv_heads, queries of a head, key width], k and v [batch, kv_heads, 1, width].
std::string step_of(bool is_gated, bool is_delta, bool keeps_states) {
  std::string inputs = "s, q, k, v";
  std::string nodes;
  if (is_gated) {
    inputs += ", g";
    nodes += "factor = Exp(g) kept = Mul(s, factor) ";
  } else {
    nodes += "kept = Identity(s) ";
  }
  if (is_delta) {
    inputs += ", b";
    nodes += "known = MatMul(k, kept) missing = Sub(v, known) added = Mul(missing, b) ";
  } else {
    nodes += "added = Identity(v) ";
  }
  nodes +=
      "k_column = Transpose<perm = [0, 1, 3, 2]>(k) outer = MatMul(k_column, added) "
      "next = Add(kept, outer) o = MatMul(q, next) ";
  if (keeps_states) nodes += "state = Identity(next) ";
  return "step (" + inputs + ") => (next, o" + (keeps_states ? ", state" : "") + ") { " + nodes +
         "}";
}

bool build_linear_attention(const BodyContext& context, BodyText& body) {
  enum : int { kPast = 3, kDecay, kBeta };
  const onnx::AttributeProto* given = context.getAttribute("update_rule");
  const std::string rule = given ? given->s() : "gated_delta";
  const bool is_gated = rule == "gated" || rule == "gated_delta";
  const bool is_delta = rule == "delta" || rule == "gated_delta";
  const int64_t q_heads = int_of(context, "q_num_heads", 0);
  const int64_t kv_heads = int_of(context, "kv_num_heads", 0);
  const int64_t window = int_of(context, "state_window", 0);
  const int type = type_of(context, 0);
  const int state_type = context.hasInput(kPast) ? type_of(context, kPast) : type;
  if (type == 0 || state_type == 0) return body.refuse(kTypeUnknown);
  if (!is_gated && !is_delta && rule != "linear") {
    return body.refuse("update_rule: expected linear, gated, delta or gated_delta, found \"" +
                       rule + "\"");
  }
  if ((is_gated && !context.hasInput(kDecay)) || (is_delta && !context.hasInput(kBeta)))
    return body.refuse("update_rule \"" + rule + "\": expected its inputs decay or beta");
  if (window < 0 || window > kMostStates)
    return body.refuse("state_window: expected 0 to " + std::to_string(kMostStates));
  if (q_heads < 1 || kv_heads < 1)
    return body.refuse("expected q_num_heads and kv_num_heads of 1 or more");
  const bool has_more_queries = q_heads >= kv_heads;
  if (has_more_queries ? q_heads % kv_heads != 0 : kv_heads % q_heads != 0) {
    return body.refuse(
        "expected one of q_num_heads and kv_num_heads to be a multiple of the other");
  }
  const int64_t per_head = has_more_queries ? q_heads / kv_heads : 1;
  // Of fewer query heads the keys may have as many as they, which heads of values share too.
  const int64_t q_features = extent_of(context, 0, 2);
  const int64_t k_features = extent_of(context, 1, 2);
  const bool has_few_keys = !has_more_queries && q_features > 0 && k_features == q_features;

  const auto by_time = [&](const std::string& to, const std::string& tensor, int64_t heads) {
    body.add(to + "_wide = Cast<to = 1>(" + tensor + ")");
    body.reshape(to + "_heads", to + "_wide", std::vector<int64_t>{0, 0, heads, -1});
    body.add(to + "_by_time = Transpose<perm = [1, 0, 2, 3]>(" + to + "_heads)");
  };
  by_time("q", "query", q_heads);
  by_time("k", "key", has_few_keys ? q_heads : kv_heads);
  by_time("v", "value", kv_heads);
  body.extent("key_width", "k_heads", 3);
  body.extent("value_width", "v_heads", 3);
  body.extent("batch", "query", 0);
  body.ints("heads", {kv_heads});
  body.ints("queries", {per_head});
  body.ints("keep", {0, 0});
  const float scale = float_of(context, "scale", 0);
  if (scale != 0) {
    body.number("scale", scale);
  } else {
    body.add("width_in_floats = Cast<to = 1>(key_width)");
    body.add("width_root = Sqrt(width_in_floats)");
    body.add("scale = Reciprocal(width_root)");
  }
  // Heads of values that share one of `tensor`, [time, batch, heads, width].
  const auto share = [&](const std::string& to, const std::string& tensor) {
    body.unsqueeze(to + "_single", tensor, {3});
    body.add(to + "_copies = Expand(" + to + "_single, times)");
    body.reshape(to + "_rows", to + "_copies",
                 std::vector<std::string>{"keep", "heads", "one", "key_width"});
  };
  body.add("q_scaled = Mul(q_by_time, scale)");
  if (has_more_queries) {
    body.reshape("q_rows", "q_scaled",
                 std::vector<std::string>{"keep", "heads", "queries", "key_width"});
  } else {
    body.ints("times", {1, 1, 1, kv_heads / q_heads, 1});
    body.ints("one", {1});
    share("q", "q_scaled");
  }
  if (has_few_keys) {
    share("k", "k_by_time");
  } else {
    body.unsqueeze("k_rows", "k_by_time", {3});
  }
  body.unsqueeze("v_rows", "v_by_time", {3});
  std::string streams = "q_rows, k_rows, v_rows";
  int count = 3;
  if (is_gated) {
    by_time("g", "decay", kv_heads);
    body.unsqueeze("g_columns", "g_by_time", {4});
    streams += ", g_columns";
    ++count;
  }
  if (is_delta) {
    // One per head, or one for all heads.
    body.add("b_wide = Cast<to = 1>(beta)");
    body.add("b_by_time = Transpose<perm = [1, 0, 2]>(b_wide)");
    body.unsqueeze("b_rows", "b_by_time", {3, 4});
    streams += ", b_rows";
    ++count;
  }
  body.add("state_shape = Concat<axis = 0>(batch, heads, key_width, value_width)");
  body.number("nothing", 0.0F);
  if (context.hasInput(kPast)) {
    add_past(body, "last_state", "past_state", window);
    body.add("first_state = Cast<to = 1>(last_state)");
  } else {
    body.add("first_state = Expand(nothing, state_shape)");
  }
  body.add("final_state, outputs" + std::string(window > 0 ? ", states" : "") +
           " = Scan<num_scan_inputs = " + std::to_string(count) + ", body = " +
           step_of(is_gated, is_delta, window > 0) + ">(first_state, " + streams + ")");
  body.add("outputs_by_row = Transpose<perm = [1, 0, 2, 3, 4]>(outputs)");
  body.reshape("flat_output", "outputs_by_row", std::vector<int64_t>{0, 0, -1});
  body.add("output" + cast_to(type) + "flat_output)");
  if (window == 0) {
    body.add("present_state" + cast_to(state_type) + "final_state)");
    return true;
  }
  body.ints("window", {window});
  body.ints("from", {-window});
  body.ints("end", {int64_t{1} << 62});
  body.add("window_shape = Concat<axis = 0>(window, state_shape)");
  body.add("no_states = Expand(nothing, window_shape)");
  body.add("all_states = Concat<axis = 0>(no_states, states)");
  body.slice("last_states", "all_states", "from", "end", 0);
  body.add("present_state" + cast_to(state_type) + "last_states)");
  return true;
}

constexpr BodyRow kStateRows[] = {
    {"CausalConvWithState", "input, weight, bias?, past_state?", "output, present_state?", "00",
     build_conv},
    {"LinearAttention", "query, key, value, past_state?, decay?, beta?", "output, present_state?",
     "0-", build_linear_attention},
};

}  // namespace

std::vector<onnx::OpSchema> state_schemas() {
  std::vector<onnx::OpSchema> schemas;
  for (const BodyRow& row : kStateRows) schemas.push_back(schema_of(row));
  return schemas;
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// The key and value caches of GroupQueryAttention and SparseAttention (com.microsoft) in their
// function bodies.
#pragma once

#include <cstdint>
#include <string>

#include "onnx/bodies/attention_body.h"

namespace gantry {

/// The caches of a node. They hold all tokens, or the last ones alone (sliding_window_cache). Their
/// elements have the type of the queries, or are int8 or int4 with scales.
class GroupedCache {
 public:
  /// Inputs of the operator.
  enum Input : int { kPastKey = 3, kPastValue, kKeyScale = 12, kValueScale };

  GroupedCache(AttentionBody& body, const BodyContext& context);

  /// The reason why the node's caches have no body; "": they have one.
  static std::string refusal_of(const BodyContext& context);

  /// Adds the nodes that bring new tokens into the caches. `keys`, `values`: f32, [batch, kv_heads,
  /// length, width]. They make
  /// - `present_key` and `present_value`, the new caches,
  /// - `wide_key` and `wide_value`, f32, [batch, kv_heads, keys, width]: what queries attend to,
  /// - `key_positions`, which broadcasts to [batch, 1, 1, keys],
  /// - `is_present`, bool, of that shape, if has_absent_keys().
  /// Requires that the body has `positions` of the new tokens, [batch, length]; `behind_past` and
  /// `ends`, the number of tokens of each row before and after, [batch, 1]; `length`; and `total`,
  /// the largest of `ends`.
  void update(const std::string& keys, const std::string& values);
  /// Whether some of `wide_key` are rows of the cache that hold no token.
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

}  // namespace gantry

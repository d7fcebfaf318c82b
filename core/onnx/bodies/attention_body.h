// SPDX-License-Identifier: Apache-2.0
// What the bodies of com.microsoft's operators of attention have in common. Shapes: q [batch,
// heads, queries, width], k and v [batch, kv_heads, keys, width]. One thread.
#pragma once

#include <string>
#include <vector>

#include "onnx/bodies/body_text.h"

namespace gantry {

class AttentionBody : public BodyText {
 public:
  AttentionBody(onnx::FunctionProto& function, const BodyContext& context);

  [[nodiscard]] int64_t heads() const { return heads_; }
  [[nodiscard]] int64_t kv_heads() const { return kv_heads_; }

  /// To f32, in which everything is computed, and back to the type of the node's first input.
  void widen(const std::string& to, const std::string& tensor);
  void narrow(const std::string& to, const std::string& tensor);
  /// Makes another type than the first input's the one that `narrow` casts to.
  void set_type(int type) { type_ = type; }
  /// [batch, length, heads * width] as [batch, length, heads, width].
  void part_heads(const std::string& to, const std::string& tensor, int64_t heads);
  /// Changes the places of length and heads.
  void turn(const std::string& to, const std::string& tensor);

  /// Heads of x, [batch, length, heads, width], turned by the angles that the node's cos_cache and
  /// sin_cache have at `places`, [batch, length].
  void rotate(const std::string& to, const std::string& x, const std::string& places,
              bool is_interleaved);
  /// The same by angles whose cosines and sines are given, [batch, length, 1, half].
  void rotate_by(const std::string& to, const std::string& x, const std::string& cos,
                 const std::string& sin, bool is_interleaved);

  /// What is added to scores: see attend.
  struct Scores {
    float scale = 0;    ///< 0: by the width
    float softcap = 0;  ///< 0: none
    /// Names of what is added, [batch, heads, queries, keys] or broadcast to it.
    std::vector<std::string> biases;
    std::string visible;  ///< name of a bool tensor of that shape; empty: all is
    /// Name of what softmax has as one more score of each row, whose weight is dropped: a number or
    /// [heads, 1, 1]; empty: none.
    std::string sink;
    /// Writes `qk`, in the type of the node's first input: the scores before softmax, or its
    /// result.
    enum class Wish { kNone, kScores, kMaskedScores, kWeights } wish = Wish::kNone;
    std::string qk;  ///< the name of that output
  };
  /// `output`, [batch, queries, heads * width of v], from q, k and v in f32.
  void attend(const std::string& q, const std::string& k, const std::string& v,
              const Scores& scores);

  /// Whether key j is not behind query i: `to`, [queries, keys]; the queries are the last keys.
  void causal(const std::string& to, const std::string& q, const std::string& k);

  /// Adds what the node's mask means to the biases: input `slot`, called `mask`. False: not known.
  bool add_mask(const std::string& mask, const BodyContext& context, int slot, const std::string& k,
                std::vector<std::string>& biases);

 private:
  void look_up(const std::string& cache, const std::string& to, const std::string& places);
  void attend_by_operator(const std::string& q, const std::string& k, const std::string& v,
                          const Scores& scores);
  void attend_in_parts(const std::string& q, const std::string& k, const std::string& v,
                       const Scores& scores);

  int type_;
  int64_t opset_;
  int64_t heads_;
  int64_t kv_heads_;
};

/// Bodies of the operators; false: there is none for the node.
bool build_multi_head(const BodyContext& context, const onnx::OpSchema& schema,
                      onnx::FunctionProto& function);
bool build_joint(const BodyContext& context, const onnx::OpSchema& schema,
                 onnx::FunctionProto& function);
bool build_quantized_joint(const BodyContext& context, const onnx::OpSchema& schema,
                           onnx::FunctionProto& function);
bool build_grouped(const BodyContext& context, const onnx::OpSchema& schema,
                   onnx::FunctionProto& function);
bool build_sparse(const BodyContext& context, const onnx::OpSchema& schema,
                  onnx::FunctionProto& function);
bool build_rotary(const BodyContext& context, const onnx::OpSchema& schema,
                  onnx::FunctionProto& function);
bool build_rotary_of_streams(const BodyContext& context, const onnx::OpSchema& schema,
                             onnx::FunctionProto& function);

}  // namespace gantry

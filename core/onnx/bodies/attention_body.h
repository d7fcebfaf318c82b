// SPDX-License-Identifier: Apache-2.0
// Shared parts of the function bodies of com.microsoft's attention operators. Shapes: q [batch,
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

  /// Casts to float32, in which everything is computed, and back to the type of the first input.
  void widen(const std::string& to, const std::string& tensor);
  void narrow(const std::string& to, const std::string& tensor);
  /// Sets the type to which `narrow` casts, if it is not the first input's.
  void set_type(int type) { type_ = type; }
  /// Reshapes [batch, length, heads * width] to [batch, length, heads, width].
  void split_heads(const std::string& to, const std::string& tensor, int64_t heads);
  /// Makes the heads of the node's inputs `query`, `key` and `value`, of the first `count` of them;
  /// the others have heads already. `has_bias`: the input `bias` is added, that of all three behind
  /// each other. `parts`: the names of the three, [batch, heads, length, width].
  void split_projections(int count, bool has_bias, std::string (&parts)[3]);
  /// Transposes the axes of length and heads.
  void transpose(const std::string& to, const std::string& tensor);

  /// Rotary embedding of x, [batch, length, heads, width], by cos_cache and sin_cache of the node
  /// at the `positions`, [batch, length].
  void rotate(const std::string& to, const std::string& x, const std::string& positions,
              bool is_interleaved);
  /// The same with given cosines and sines, [batch, length, 1, half].
  void rotate_by(const std::string& to, const std::string& x, const std::string& cos,
                 const std::string& sin, bool is_interleaved);

  /// Options of the attention scores; see attend.
  struct Scores {
    float scale = 0;    ///< 0: 1 / sqrt(width)
    float softcap = 0;  ///< 0: none
    /// names of biases that are added to the scores, [batch, heads, queries, keys] or broadcast to
    /// it
    std::vector<std::string> biases;
    std::string visible;  ///< name of a bool mask of that shape; empty: no mask
    /// name of the attention sink: one more score in the softmax of each row, whose weight is
    /// dropped; a scalar or [heads, 1, 1]; empty: none
    std::string sink;
    /// the optional output `qk`, in the type of the first input: the scores before softmax, or its
    /// result
    enum class Wish { kNone, kScores, kMaskedScores, kWeights } wish = Wish::kNone;
    std::string qk;  ///< the name of that output
  };
  /// Adds the nodes of attention: makes `output`, [batch, queries, heads * width of v], from q, k
  /// and v in float32.
  void attend(const std::string& q, const std::string& k, const std::string& v,
              const Scores& scores);

  /// The causal mask `to`, [queries, keys]: true if key j is not after query i. The queries are the
  /// last keys.
  void causal(const std::string& to, const std::string& q, const std::string& k);

  /// Converts the node's mask, input `slot` of name `mask`, to biases. False: a mask of a form
  /// without a body.
  bool add_mask(const std::string& mask, const BodyContext& context, int slot, const std::string& k,
                std::vector<std::string>& biases);

 private:
  void look_up(const std::string& cache, const std::string& to, const std::string& positions);
  void attend_by_operator(const std::string& q, const std::string& k, const std::string& v,
                          const Scores& scores);
  void attend_in_parts(const std::string& q, const std::string& k, const std::string& v,
                       const Scores& scores);

  int type_;
  int64_t opset_;
  int64_t heads_;
  int64_t kv_heads_;
};

/// Build the bodies of the operators; false: there is no body for the node.
bool build_multi_head(const BodyContext& context, const onnx::OpSchema& schema,
                      onnx::FunctionProto& function);
bool build_joint(const BodyContext& context, const onnx::OpSchema& schema,
                 onnx::FunctionProto& function);
bool build_quantized_joint(const BodyContext& context, const onnx::OpSchema& schema,
                           onnx::FunctionProto& function);
bool build_decoder_masked(const BodyContext& context, const onnx::OpSchema& schema,
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

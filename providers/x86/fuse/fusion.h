// SPDX-License-Identifier: Apache-2.0
// A claim: an operator, the root, with the nodes that are done in its own pass. Behind it stands
// its epilogue; around both, where the numbers are of int8, the nodes that say what they stand for.
// Pure functions.
#pragma once

#include <gantry/sdk/fusion.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "conv/channel_shuffle.h"
#include "fuse/epilogue.h"
#include "fuse/quantization.h"

namespace gantry::x86 {

/// A tensor of the run as the claim reads or writes it.
struct Port {
  uint32_t value = GANTRY_NONE;
  std::optional<Quantization> quantization;  ///< none: it is f32, or its numbers only move

  [[nodiscard]] Type type() const { return quantization ? quantization->type : Type::f32; }
};

struct Fusion : sdk::FusionMatch {
  uint32_t root = 0;
  Epilogue epilogue;
  std::vector<Port> sources;  ///< the root's tensors of the run, by position
  Port addend;                ///< what the epilogue adds; value GANTRY_NONE: nothing
  Port target;
  uint32_t weights = GANTRY_NONE;  ///< value of constant weights
  std::optional<WeightQuantization> weight_quantization;
  /// value of what the root adds to each channel: floats, or i32 in the scale of the products
  uint32_t bias = GANTRY_NONE;
  /// Of an root that makes i32: what its results, as floats, are multiplied by, one number or one
  /// for each channel; GANTRY_NONE: they stay i32.
  uint32_t scale = GANTRY_NONE;
  uint32_t zero_point = GANTRY_NONE;  ///< of the first source; GANTRY_NONE: 0
  /// a DequantizeLinear of a constant that makes the bias; GANTRY_NONE: the bias is a constant
  uint32_t bias_node = GANTRY_NONE;
  bool rounds_to_bf16 = false;     ///< what it multiplies, weights too; all else stays f32
  std::optional<Shuffle> shuffle;  ///< of the channels of the first source, whose value it reads

  /// True if the root works on int8 values.
  [[nodiscard]] bool is_quantized() const {
    return !sources.empty() && sources[0].quantization.has_value();
  }
  /// Of the first source as it is multiplied, and of the weights.
  [[nodiscard]] Type source_type() const { return rounds_to_bf16 ? Type::bf16 : sources[0].type(); }
  [[nodiscard]] Type weights_type() const {
    return weight_quantization ? Type::s8 : rounds_to_bf16 ? Type::bf16 : Type::f32;
  }
};

/// What stands around node `root`, of nodes that may be taken. Of an operator that has scales and
/// zero points among its inputs (QLinearConv, QLinearMatMul): the node alone.
Fusion fusion_of(const GraphIndex& index, uint32_t root, const RootTraits& traits,
                 const std::function<bool(uint32_t node)>& may_take);

/// A node by itself.
Fusion single_node_fusion(const GraphIndex& index, uint32_t node);

/// Takes the nodes that exchange the channels of the first source into the fusion, if there are
/// any.
void fuse_channel_shuffle(const GraphIndex& index, Fusion& fusion,
                          const std::function<bool(uint32_t node)>& may_take);

/// True if nobody reads what the fusion adds to its result when it has run, so that the host may
/// let the result take its place.
bool may_replace_addend(const GraphIndex& index, const Fusion& fusion);

/// The bias as floats; zeros if there is none. `channels`: how many. Nothing: it is no constant of
/// that many numbers.
std::optional<std::vector<float>> bias_of(const GraphIndex& index, const Fusion& fusion,
                                          int64_t channels);
/// What is added to each byte of the weights to make it a signed number around zero.
inline uint8_t weight_offset(const Fusion& fusion) {
  return fusion.weight_quantization ? fusion.weight_quantization->offset : uint8_t{0};
}
/// True if the weights are known when the claim is compiled.
bool has_constant_weights(const GraphIndex& index, const Fusion& fusion);

}  // namespace gantry::x86

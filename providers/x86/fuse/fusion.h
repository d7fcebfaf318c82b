// SPDX-License-Identifier: Apache-2.0
// A fusion: a root node, its epilogue and, for int8, the QuantizeLinear and DequantizeLinear nodes
// around both. One kernel runs all of them. Pure functions.
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

/// An activation tensor that the fusion reads or writes.
struct Port {
  uint32_t value = GANTRY_NONE;
  std::optional<Quantization> quantization;  ///< none: f32, or any dtype that is only copied

  [[nodiscard]] Type type() const { return quantization ? quantization->type : Type::f32; }
};

struct Fusion : sdk::FusionMatch {
  uint32_t root = 0;
  Epilogue epilogue;
  std::vector<Port> sources;       ///< the root's activations, by input position
  Port addend;                     ///< what the epilogue adds; value GANTRY_NONE: nothing
  Port target;                     ///< the result
  uint32_t weights = GANTRY_NONE;  ///< value of the weights, before a DequantizeLinear
  std::optional<WeightQuantization> weight_quantization;
  /// value of the root's bias: f32, or i32 in units of source scale * weight scale
  uint32_t bias = GANTRY_NONE;
  /// MatMulInteger: value that the dequantizing Mul multiplies by, one element or one per channel;
  /// GANTRY_NONE: the result stays i32
  uint32_t scale = GANTRY_NONE;
  uint32_t zero_point = GANTRY_NONE;  ///< MatMulInteger: of the first source; GANTRY_NONE: 0
  /// DequantizeLinear of a constant that makes the bias; GANTRY_NONE: `bias` is read as it is
  uint32_t bias_node = GANTRY_NONE;
  bool rounds_to_bf16 = false;     ///< source and weights are; everything else stays f32
  std::optional<Shuffle> shuffle;  ///< before the root; sources[0] is then the shuffle's source

  /// True if the root's operands are int8.
  [[nodiscard]] bool is_quantized() const {
    return !sources.empty() && sources[0].quantization.has_value();
  }
  /// Dtypes in which the first source and the weights are multiplied.
  [[nodiscard]] Type source_type() const { return rounds_to_bf16 ? Type::bf16 : sources[0].type(); }
  [[nodiscard]] Type weights_type() const {
    return weight_quantization ? Type::s8 : rounds_to_bf16 ? Type::bf16 : Type::f32;
  }
};

/// The fusion at `root`, of nodes that `may_take` allows. QLinearConv and QLinearMatMul, whose
/// scales and zero points are inputs, stay alone.
Fusion fusion_of(const GraphIndex& index, uint32_t root, const RootTraits& traits,
                 const std::function<bool(uint32_t node)>& may_take);

/// A fusion of one node, without sources and weights.
Fusion single_node_fusion(const GraphIndex& index, uint32_t node);

/// Fuses the channel shuffle that makes the first source, if there is one.
void fuse_channel_shuffle(const GraphIndex& index, Fusion& fusion,
                          const std::function<bool(uint32_t node)>& may_take);

/// True if the host may write the result over the addend: the addend has the result's dtype, is
/// made by a node, is no graph output, and no node after the fusion reads it.
bool may_replace_addend(const GraphIndex& index, const Fusion& fusion);

/// The bias, dequantized, of `channels` elements; zeros if there is none. Nothing if the bias is
/// not constant or has another number of elements.
std::optional<std::vector<float>> bias_of(const GraphIndex& index, const Fusion& fusion,
                                          int64_t channels);
/// What is added, modulo 256, to each byte of int8 weights so that it is signed with zero point 0.
inline uint8_t weight_offset(const Fusion& fusion) {
  return fusion.weight_quantization ? fusion.weight_quantization->offset : uint8_t{0};
}
/// True if the weights are constant: quantized to int8, or f32.
bool has_constant_weights(const GraphIndex& index, const Fusion& fusion);

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// The operators, each with the question whether it takes a node, and with the ordered list of its
// implementations. The answers are pure and read the graph alone. A refusal is one sentence without
// a final stop; empty: taken.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "fuse/fusion.h"
#include "fuse/implementation.h"
#include "fuse/match_scope.h"

namespace gantry::x86 {

/// Conv with constant weights, f32 or int8, one to three spatial axes.
std::string conv_refusal(const GraphIndex& index, const Fusion& fusion);
std::unique_ptr<Fusion> match_conv(const MatchScope& scope, uint32_t root);
std::span<const Implementation> conv_implementations(const Fusion& fusion);
/// Of the convolutions that conv_refusal takes: one channel for each group, by code of this
/// provider's own, which can exchange channels before it (Fusion::shuffle).
bool is_depthwise_here(const GraphIndex& index, const Fusion& fusion);

/// ConvTranspose of f32 with constant weights, one group and not few channels.
std::string conv_transpose_refusal(const GraphIndex& index, const Fusion& fusion);
RootTraits conv_transpose_traits(const GraphIndex& index, uint32_t node);
std::span<const Implementation> conv_transpose_implementations(const Fusion& fusion);

/// MatMul and Gemm of f32 or int8 with a constant right-hand matrix.
std::string matmul_refusal(const GraphIndex& index, const Fusion& fusion);
RootTraits matmul_traits(const GraphIndex& index, uint32_t node);
std::span<const Implementation> matmul_implementations(const Fusion& fusion);

/// MatMul and Gemm of two f32 tensors of the run, whose extents are known and not small.
std::string dynamic_matmul_refusal(const GraphIndex& index, const Fusion& fusion);
RootTraits dynamic_matmul_traits(const GraphIndex& index, uint32_t node);
std::span<const Implementation> dynamic_matmul_implementations(const Fusion& fusion);

/// MatMulInteger with a constant right-hand matrix, and its way to floats.
std::string matmul_integer_refusal(const GraphIndex& index, const Fusion& fusion);
RootTraits matmul_integer_traits(const GraphIndex& index, uint32_t node);
std::span<const Implementation> matmul_integer_implementations(const Fusion& fusion);

/// MatMulNBits of com.microsoft with a constant matrix of 4 or 8 bits.
std::string matmul_nbits_refusal(const GraphIndex& index, const Fusion& fusion);
std::span<const Implementation> matmul_nbits_implementations(const Fusion& fusion);

/// QMoE of com.microsoft with constant weights and f32 tokens.
std::string experts_refusal(const GraphIndex& index, const Fusion& fusion);
bool is_experts_parameter(const GraphIndex& index, uint32_t node, uint32_t position);
std::span<const Implementation> experts_implementations(const Fusion& fusion);

/// MaxPool, AveragePool and the global ones of f32 or int8, and means over all spatial axes.
std::string pool_refusal(const GraphIndex& index, const Fusion& fusion);
RootTraits pool_traits(const GraphIndex& index, uint32_t node);
std::span<const Implementation> pool_implementations(const Fusion& fusion);

/// Operators that work element by element, or by channel (BatchNormalization), in whatever order
/// the elements stand; with the activations behind them.
std::string eltwise_refusal(const GraphIndex& index, const Fusion& fusion);
bool is_eltwise_parameter(const GraphIndex& index, uint32_t node, uint32_t position);
RootTraits eltwise_traits(const GraphIndex& index, uint32_t node);
std::span<const Implementation> eltwise_implementations(const Fusion& fusion);

/// A function of one tensor in int8: a table of all results (eltwise/int8_lookup_match.h). The root
/// is its last node.
std::unique_ptr<Fusion> match_int8_lookup(const MatchScope& scope, uint32_t root);
std::span<const Implementation> int8_lookup_implementations(const Fusion& fusion);

/// LSTM and GRU with constant weights and their default functions, all sequences of one length; a
/// GRU that resets behind the product.
std::string recurrent_refusal(const GraphIndex& index, const Fusion& fusion);
bool is_recurrent_parameter(const GraphIndex& index, uint32_t node, uint32_t position);
std::span<const Implementation> recurrent_implementations(const Fusion& fusion);

/// DynamicQuantizeLSTM of com.microsoft with constant weights, as far as an LSTM is taken.
std::string dynamic_quantize_lstm_refusal(const GraphIndex& index, const Fusion& fusion);
bool is_dynamic_quantize_lstm_parameter(const GraphIndex& index, uint32_t node, uint32_t position);
std::span<const Implementation> dynamic_quantize_lstm_implementations(const Fusion& fusion);

/// Sets of nodes that work element by element (eltwise/program.h). The root is the set's last node.
std::unique_ptr<Fusion> match_elementwise(const MatchScope& scope, uint32_t root);
bool is_elementwise_parameter(const GraphIndex& index, uint32_t node, uint32_t position);
std::span<const Implementation> elementwise_implementations(const Fusion& fusion);

/// Concat along the channels.
std::string concat_refusal(const GraphIndex& index, const Fusion& fusion);
RootTraits concat_traits(const GraphIndex& index, uint32_t node);
std::span<const Implementation> concat_implementations(const Fusion& fusion);

}  // namespace gantry::x86

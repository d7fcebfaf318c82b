// SPDX-License-Identifier: Apache-2.0
// The kernel families (fuse/families.h). Each has a refusal, the traits of its root or a match of
// its own, and an ordered list of implementations. All are pure functions of the graph. A refusal
// is a sentence without a final stop; empty: the family runs the fusion.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "fuse/fusion.h"
#include "fuse/implementation.h"
#include "fuse/match_scope.h"

namespace gantry::x86 {

/// Conv and QLinearConv with constant weights, f32 or int8, one to three spatial axes.
std::string conv_refusal(const GraphIndex& index, const Fusion& fusion);
std::unique_ptr<Fusion> match_conv(const MatchScope& scope, uint32_t root);
std::span<const Implementation> conv_implementations(const Fusion& fusion);
/// True of a 2-D depthwise Conv in f32 that this provider's own code can run, which can also apply
/// a channel shuffle first (Fusion::shuffle).
bool is_depthwise_here(const GraphIndex& index, const Fusion& fusion);

/// ConvTranspose with constant weights, f32 or int8, one group, at least 16 input and output
/// channels. Needs AVX2.
std::string conv_transpose_refusal(const GraphIndex& index, const Fusion& fusion);
RootTraits conv_transpose_traits(const GraphIndex& index, uint32_t node);
std::span<const Implementation> conv_transpose_implementations(const Fusion& fusion);

/// MatMul, Gemm and QLinearMatMul of f32 or int8 with a constant right-hand matrix.
std::string matmul_refusal(const GraphIndex& index, const Fusion& fusion);
RootTraits matmul_traits(const GraphIndex& index, uint32_t node);
std::span<const Implementation> matmul_implementations(const Fusion& fusion);

/// MatMul and Gemm of two f32 activations of known extents, rows, inner and columns being at least
/// 16 and the product at least 2^19 multiply-adds. Needs AVX-512.
std::string dynamic_matmul_refusal(const GraphIndex& index, const Fusion& fusion);
RootTraits dynamic_matmul_traits(const GraphIndex& index, uint32_t node);
std::span<const Implementation> dynamic_matmul_implementations(const Fusion& fusion);

/// MatMulInteger with a constant right-hand matrix, and the Cast and Mul that dequantize its
/// result.
std::string matmul_integer_refusal(const GraphIndex& index, const Fusion& fusion);
RootTraits matmul_integer_traits(const GraphIndex& index, uint32_t node);
std::span<const Implementation> matmul_integer_implementations(const Fusion& fusion);

/// MatMulNBits (com.microsoft) with a constant matrix of 4 or 8 bits.
std::string matmul_nbits_refusal(const GraphIndex& index, const Fusion& fusion);
std::span<const Implementation> matmul_nbits_implementations(const Fusion& fusion);

/// QMoE (com.microsoft) with constant weights of 2, 4 or 8 bits and f32 tokens.
std::string experts_refusal(const GraphIndex& index, const Fusion& fusion);
bool is_experts_parameter(const GraphIndex& index, uint32_t node, uint32_t position);
std::span<const Implementation> experts_implementations(const Fusion& fusion);

/// MaxPool, AveragePool, GlobalMaxPool and GlobalAveragePool of f32 or int8; ReduceMean and
/// ReduceMax of f32 over all spatial axes.
std::string pool_refusal(const GraphIndex& index, const Fusion& fusion);
RootTraits pool_traits(const GraphIndex& index, uint32_t node);
std::span<const Implementation> pool_implementations(const Fusion& fusion);

/// Activations, binary arithmetic and BatchNormalization on channels-last tensors, f32 or int8,
/// with the activations after them.
std::string eltwise_refusal(const GraphIndex& index, const Fusion& fusion);
bool is_eltwise_parameter(const GraphIndex& index, uint32_t node, uint32_t position);
RootTraits eltwise_traits(const GraphIndex& index, uint32_t node);
std::span<const Implementation> eltwise_implementations(const Fusion& fusion);

/// Element-wise nodes from one int8 tensor to another as a lookup table
/// (eltwise/int8_lookup_match.h). Matched at the last node.
std::unique_ptr<Fusion> match_int8_lookup(const MatchScope& scope, uint32_t root);
std::span<const Implementation> int8_lookup_implementations(const Fusion& fusion);

/// LSTM, GRU and RNN with constant weights and default activations, without clip, peepholes and
/// sequence_lens.
std::string recurrent_refusal(const GraphIndex& index, const Fusion& fusion);
bool is_recurrent_parameter(const GraphIndex& index, uint32_t node, uint32_t position);
std::span<const Implementation> recurrent_implementations(const Fusion& fusion);

/// DynamicQuantizeLSTM (com.microsoft) with constant weights, within the limits of LSTM.
std::string dynamic_quantize_lstm_refusal(const GraphIndex& index, const Fusion& fusion);
bool is_dynamic_quantize_lstm_parameter(const GraphIndex& index, uint32_t node, uint32_t position);
std::span<const Implementation> dynamic_quantize_lstm_implementations(const Fusion& fusion);

/// Sets of element-wise f32 nodes (eltwise/program.h). Matched at the last node.
std::unique_ptr<Fusion> match_elementwise(const MatchScope& scope, uint32_t root);
bool is_elementwise_parameter(const GraphIndex& index, uint32_t node, uint32_t position);
std::span<const Implementation> elementwise_implementations(const Fusion& fusion);

/// Concat along axis 1, the channels, of channels-last tensors, f32 or int8.
std::string concat_refusal(const GraphIndex& index, const Fusion& fusion);
RootTraits concat_traits(const GraphIndex& index, uint32_t node);
std::span<const Implementation> concat_implementations(const Fusion& fusion);

}  // namespace gantry::x86

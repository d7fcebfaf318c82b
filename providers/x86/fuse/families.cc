// SPDX-License-Identifier: Apache-2.0
#include "fuse/families.h"

#include <algorithm>

#include "attention/attention.h"
#include "conv/depthwise_block.h"
#include "eltwise/program.h"
#include "fuse/match_epilogue.h"
#include "matmul/nbits/code.h"

namespace gantry::x86 {
namespace {

bool is_not_first(const GraphIndex&, uint32_t, uint32_t position) { return position > 0; }
bool is_third(const GraphIndex&, uint32_t, uint32_t position) { return position == 2; }
bool is_always(const GraphIndex&, uint32_t, uint32_t) { return true; }
bool is_never(const GraphIndex&, uint32_t, uint32_t) { return false; }
std::string nothing_is_refused(const GraphIndex&, const Fusion&) { return {}; }
// The scale of the scores. A mask (Add, or an input of Attention) is read in each run.
bool is_attention_parameter(const GraphIndex& index, uint32_t node, uint32_t) {
  const std::string_view op_type = index.node(node).op_type();
  return op_type != "Add" && op_type != "Attention";
}

/// A root with the epilogue that its traits allow.
template <RootTraits (*traits)(const GraphIndex&, uint32_t)>
std::unique_ptr<Fusion> match_with_epilogue(const MatchScope& scope, uint32_t root) {
  return match_epilogue(scope, root, traits(scope.index(), root));
}

std::unique_ptr<Fusion> match_single_node(const MatchScope& scope, uint32_t root) {
  return std::make_unique<Fusion>(single_node_fusion(scope.index(), root));
}

}  // namespace

constinit const std::array<Family, kFamilyCount> kFamilies = {{
    {.kernel = "x86.conv",
     .match = match_conv,
     .refusal = conv_refusal,
     .implementations = conv_implementations,
     .is_parameter = is_not_first,
     .has_channels = true,
     .starts_format = true},
    {.kernel = "x86.matmul",
     .match = match_with_epilogue<matmul_traits>,
     .refusal = matmul_refusal,
     .implementations = matmul_implementations,
     .is_parameter = is_not_first},
    {.kernel = "x86.pool",
     .match = match_with_epilogue<pool_traits>,
     .refusal = pool_refusal,
     .implementations = pool_implementations,
     .is_parameter = is_never,
     .has_channels = true},
    {.kernel = "x86.concat",
     .match = match_with_epilogue<concat_traits>,
     .refusal = concat_refusal,
     .implementations = concat_implementations,
     .is_parameter = is_never,
     .has_channels = true,
     .needs_format = true},
    {.kernel = "x86.eltwise",
     .match = match_with_epilogue<eltwise_traits>,
     .refusal = eltwise_refusal,
     .implementations = eltwise_implementations,
     .is_parameter = is_eltwise_parameter,
     .has_channels = true,
     .needs_format = true},
    {.kernel = "x86.matmul_integer",
     .match = match_with_epilogue<matmul_integer_traits>,
     .refusal = matmul_integer_refusal,
     .implementations = matmul_integer_implementations,
     .is_parameter = is_not_first},
    {.kernel = "x86.matmul_nbits",
     .match = match_single_node,
     .refusal = matmul_nbits_refusal,
     .implementations = matmul_nbits_implementations,
     .is_parameter = is_not_first,
     .instructions = [] { return block_code().name; }},
    {.kernel = "x86.attention",
     .match = match_attention,
     .refusal = nothing_is_refused,
     .implementations = attention_implementations,
     .is_parameter = is_attention_parameter,
     .is_set = true},
    {.kernel = "x86.recurrent",
     .match = match_single_node,
     .refusal = recurrent_refusal,
     .implementations = recurrent_implementations,
     .is_parameter = is_recurrent_parameter},
    {.kernel = "x86.dynamic_quantize_lstm",
     .match = match_single_node,
     .refusal = dynamic_quantize_lstm_refusal,
     .implementations = dynamic_quantize_lstm_implementations,
     .is_parameter = is_dynamic_quantize_lstm_parameter},
    {.kernel = "x86.elementwise",
     .match = match_elementwise,
     .refusal = nothing_is_refused,
     .implementations = elementwise_implementations,
     .is_parameter = is_elementwise_parameter,
     .is_set = true},
    {.kernel = "x86.dynamic_matmul",
     .match = match_with_epilogue<dynamic_matmul_traits>,
     .refusal = dynamic_matmul_refusal,
     .implementations = dynamic_matmul_implementations,
     .is_parameter = is_third},
    {.kernel = "x86.conv_transpose",
     .match = match_with_epilogue<conv_transpose_traits>,
     .refusal = conv_transpose_refusal,
     .implementations = conv_transpose_implementations,
     .is_parameter = is_not_first,
     .has_channels = true,
     .starts_format = true},
    {.kernel = "x86.depthwise_block",
     .match = match_depthwise_block,
     .refusal = nothing_is_refused,
     .implementations = depthwise_block_implementations,
     .is_parameter = is_not_first,
     .has_channels = true,
     .starts_format = true,
     .is_set = true},
    {.kernel = "x86.int8_lookup",
     .match = match_int8_lookup,
     .refusal = nothing_is_refused,
     .implementations = int8_lookup_implementations,
     .is_parameter = is_always,
     .has_channels = true,
     .is_set = true},
    {.kernel = "x86.experts",
     .match = match_single_node,
     .refusal = experts_refusal,
     .implementations = experts_implementations,
     .is_parameter = is_experts_parameter,
     .instructions = [] { return block_code().name; }},
}};

bool is_recurrent(std::string_view op_type) {
  return op_type == "LSTM" || op_type == "GRU" || op_type == "RNN" ||
         op_type == "DynamicQuantizeLSTM";
}

bool is_reduction(std::string_view op_type) {
  return op_type == "ReduceMean" || op_type == "ReduceMax";
}

FamilyIndex family_of(std::string_view op_type) {
  if (op_type == "Conv" || op_type == "QLinearConv") return kConv;
  if (op_type == "ConvTranspose") return kConvTranspose;
  if (op_type == "MatMul" || op_type == "Gemm" || op_type == "QLinearMatMul") return kMatMul;
  if (op_type == "MatMulInteger") return kMatMulInteger;
  if (op_type == "Concat") return kConcat;
  if (is_recurrent(op_type)) return kRecurrent;
  if (is_reduction(op_type)) return kPool;
  constexpr std::array kPools = {"MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"};
  return std::find(kPools.begin(), kPools.end(), op_type) != kPools.end() ? kPool : kEltwise;
}

}  // namespace gantry::x86

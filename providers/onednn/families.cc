// SPDX-License-Identifier: Apache-2.0
#include "families.h"

#include <algorithm>

#include "blocks/code.h"

namespace gantry::onednn {
namespace {

bool is_not_first(const GraphIndex&, uint32_t, uint32_t position) { return position > 0; }
bool is_third(const GraphIndex&, uint32_t, uint32_t position) { return position == 2; }
bool is_always(const GraphIndex&, uint32_t, uint32_t) { return true; }
bool is_never(const GraphIndex&, uint32_t, uint32_t) { return false; }
// The number that scores are multiplied by; no mask, the operator's own neither.
bool is_attention_parameter(const GraphIndex& index, uint32_t node, uint32_t) {
  const std::string_view op_type = index.node(node).op_type();
  return op_type != "Add" && op_type != "Attention";
}

}  // namespace

constinit const std::array<Family, kFamilyCount> kFamilies = {{
    {.kernel = "onednn.conv",
     .refusal = conv_refusal,
     .traits = conv_traits,
     .make = make_conv,
     .is_parameter = is_not_first,
     .has_channels = true,
     .starts_format = true},
    {.kernel = "onednn.product",
     .refusal = product_refusal,
     .traits = product_traits,
     .make = make_product,
     .is_parameter = is_not_first},
    {.kernel = "onednn.pool",
     .refusal = pool_refusal,
     .traits = pool_traits,
     .make = make_pool,
     .is_parameter = is_never,
     .has_channels = true},
    {.kernel = "onednn.concat",
     .refusal = concat_refusal,
     .traits = concat_traits,
     .make = make_concat,
     .is_parameter = is_never,
     .has_channels = true,
     .needs_format = true},
    {.kernel = "onednn.pointwise",
     .refusal = pointwise_refusal,
     .traits = pointwise_traits,
     .make = make_pointwise,
     .is_parameter = is_pointwise_parameter,
     .has_channels = true,
     .needs_format = true},
    {.kernel = "onednn.integer_product",
     .refusal = integer_product_refusal,
     .traits = integer_product_traits,
     .make = make_integer_product,
     .is_parameter = is_not_first},
    {.kernel = "onednn.block_product",
     .refusal = block_product_refusal,
     .make = make_block_product,
     .is_parameter = is_not_first,
     .instructions = [] { return block_code().name; }},
    {.kernel = "onednn.attention", .is_parameter = is_attention_parameter, .is_set = true},
    {.kernel = "onednn.recurrent",
     .refusal = recurrent_refusal,
     .make = make_recurrent,
     .is_parameter = is_recurrent_parameter},
    {.kernel = "onednn.elementwise", .is_parameter = is_elementwise_parameter, .is_set = true},
    {.kernel = "onednn.tensor_product",
     .refusal = tensor_product_refusal,
     .traits = tensor_product_traits,
     .make = make_tensor_product,
     .is_parameter = is_third},
    {.kernel = "onednn.deconv",
     .refusal = deconv_refusal,
     .traits = deconv_traits,
     .make = make_deconv,
     .is_parameter = is_not_first,
     .has_channels = true,
     .starts_format = true},
    {.kernel = "onednn.depthwise_block",
     .is_parameter = is_not_first,
     .has_channels = true,
     .starts_format = true,
     .is_set = true},
    {.kernel = "onednn.byte_function",
     .is_parameter = is_always,
     .has_channels = true,
     .is_set = true},
}};

bool is_recurrent(std::string_view op_type) {
  return op_type == "LSTM" || op_type == "GRU" || op_type == "RNN";
}

bool is_reduction(std::string_view op_type) {
  return op_type == "ReduceMean" || op_type == "ReduceMax";
}

FamilyIndex family_of(std::string_view op_type) {
  if (op_type == "Conv" || op_type == "QLinearConv") return kConv;
  if (op_type == "ConvTranspose") return kDeconv;
  if (op_type == "MatMul" || op_type == "Gemm" || op_type == "QLinearMatMul") return kProduct;
  if (op_type == "MatMulInteger") return kIntegerProduct;
  if (op_type == "Concat") return kConcat;
  if (is_recurrent(op_type)) return kRecurrent;
  if (is_reduction(op_type)) return kPool;
  constexpr std::array kPools = {"MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"};
  return std::find(kPools.begin(), kPools.end(), op_type) != kPools.end() ? kPool : kPointwise;
}

}  // namespace gantry::onednn

// SPDX-License-Identifier: Apache-2.0
// Attention operators of com.microsoft: MultiHeadAttention, GroupQueryAttention, Attention,
// QAttention, RotaryEmbedding and MRotaryEmbedding, each with a function body in ai.onnx operators
// (opset 13 and newer). A body computes in float32; cached keys and values have the model's type.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

/// Their schemas. There is no body for quantized caches, norms of queries, sliding-window caches,
/// and caches that share a buffer with the past (`past_sequence_length`); such a node is refused
/// unless a provider claims it.
std::vector<onnx::OpSchema> attention_schemas();

}  // namespace gantry

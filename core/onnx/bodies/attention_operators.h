// SPDX-License-Identifier: Apache-2.0
// Attention as com.microsoft has it: MultiHeadAttention, GroupQueryAttention, Attention,
// QAttention, RotaryEmbedding and MRotaryEmbedding, each with a body in terms of ai.onnx (opset 13
// and newer). A body computes in f32 and keeps keys and values of the past in the model's type.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

/// Their schemas. There is no body, so that a node is refused unless a provider takes it, for
/// quantized caches, norms of queries, caches of a sliding window, and caches that are written in
/// place of the past by an input of its own (`past_sequence_length`).
std::vector<onnx::OpSchema> attention_schemas();

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// What a decoder of the kind of GPT-2 reads before its first token: the prompt, once for each beam.
// Its inputs are input_ids, position_ids, attention_mask and a past for each layer, its outputs
// logits and a present for each layer (onnxruntime.transformers.convert_generation).
#pragma once

#include <optional>
#include <string>

#include "onnx/bodies/generation/decoder_loop.h"

namespace gantry {

/// Input indices of a decoder, and its outputs.
constexpr int kIdsInput = 0;
constexpr int kPositionsInput = 1;
constexpr int kMaskInput = 2;
constexpr int kFirstPast = 3;
constexpr int kLogitsOutput = 0;
constexpr int kFirstPresent = 1;

/// The attribute `decoder` of the node if it is such a decoder; nullptr: it is none, and `body` has
/// the reason.
const onnx::GraphProto* find_decoder(const BodyContext& context, BodyText& body);

/// Adds to `body`: `batch` and `length`, the extents of input_ids, and `rows`, how many rows the
/// decoder has (tensors of rank 1); batch_of_row; the decoder's first inputs `ids`, `positions`,
/// `mask` and `no_past`; the tokens so far, `prompt` (int64); `next_positions`, [rows, 1]; and
/// `limit`, how many tokens may come.
/// `has_beams`: there are num_beams rows for each of the batch. `mask_input`: index of the input
/// attention_mask.
void add_prompt(BodyText& body, const BodyContext& context, const onnx::GraphProto& decoder,
                bool has_beams, int mask_input);

/// Carries on what is of each row's own: sequences, positions and mask, for the next token
/// `next_words`, int64 [rows, 1].
void carry_words(DecoderLoop& loop);

}  // namespace gantry

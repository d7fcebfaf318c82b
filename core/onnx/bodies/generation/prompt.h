// SPDX-License-Identifier: Apache-2.0
// What a decoder of the kind of GPT-2 reads before its first token: the prompt, once for each beam.
// Its inputs are input_ids, position_ids, attention_mask and a past for each layer, its outputs
// logits and a present for each layer (onnxruntime.transformers.convert_generation).
#pragma once

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

/// Adds to `body`: `batch`, the extent of input_ids, and `rows`, how many rows the decoder has
/// (tensors of rank 1); batch_of_row, [rows]; `beams`; `most_words`, the extent of the result; and
/// constants. `has_beams`: there are num_beams rows for each of the batch.
void add_rows(BodyText& body, const BodyContext& context, bool has_beams);

/// Adds `length`, the places of `prompt`, [rows, places], and `limit`, how many tokens may come.
void add_limit(BodyText& body, const std::string& prompt);

/// Adds what add_rows() and add_limit() do, the tokens so far, `prompt`, int64 [rows, places]; the
/// decoder's first inputs `ids`, `positions`, `mask` and `no_past`; and `next_positions`, [rows,
/// 1]. `mask_input`: index of the input attention_mask.
void add_prompt(BodyText& body, const BodyContext& context, const onnx::GraphProto& decoder,
                bool has_beams, int mask_input);

/// Carries on what is of each row's own: sequences, positions and mask, for the next token
/// `next_words`, int64 [rows, 1].
void carry_words(DecoderLoop& loop);

/// Carries on a past, from `first`: each row goes on with that of `next_rows` in the present, whose
/// rows are on that axis.
void carry_past(DecoderLoop& loop, int past_input, int present_output, const std::string& first,
                int axis);

}  // namespace gantry

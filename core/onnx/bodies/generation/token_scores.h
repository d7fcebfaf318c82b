// SPDX-License-Identifier: Apache-2.0
// From a decoder's logits to the scores of the tokens that may come next, as the operators of
// com.microsoft that generate text define them.
#pragma once

#include "onnx/bodies/body_text.h"

namespace gantry {

/// Input indices of the operator; -1: it has no such input.
struct ScoreInputs {
  int min_length;
  int repetition_penalty;
  int vocab_mask;
  int prefix_vocab_mask;
  int temperature = -1;
};

/// Adds `token_logits`, [rows, vocabulary] in float: the decoder's `logits`, [rows, places,
/// vocabulary], of the last place; and `vocabulary`, a tensor of rank 1.
void add_token_logits(BodyText& step, const BodyContext& context, const std::string& logits);

/// Adds `token_scores`, like `scores_before`: what the operator's attributes and inputs forbid is
/// the lowest number, and what is repeated is worth less. Reads `tokens`, int64 [rows, places], the
/// sequences so far; batch_of_row, [rows], the batch of each row; and `end`, the token of the end.
/// Adds also `places`, the extent of `tokens`.
void add_token_scores(BodyText& step, const BodyContext& context, const ScoreInputs& inputs,
                      const std::string& scores_before);

}  // namespace gantry

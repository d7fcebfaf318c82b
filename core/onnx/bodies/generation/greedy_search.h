// SPDX-License-Identifier: Apache-2.0
// The body of GreedySearch: the token with the highest score follows; and of what searches likewise
// with another choice of the token.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "onnx/bodies/body_text.h"
#include "onnx/bodies/generation/decoder_loop.h"

namespace gantry {

/// Adds to the loop's step `chosen_words`, int64 [rows, 1], from `token_scores`, float [rows,
/// vocabulary]; and to the body around the loop what that needs.
using ChooseToken = std::function<void(BodyText& body, DecoderLoop& loop)>;

/// One row for each of the batch, until all have ended. `formals`: the operator's inputs besides
/// those of GreedySearch.
bool build_token_search(const BodyContext& context, BodyText& body, const ChooseToken& choose,
                        std::vector<std::string> formals);

BuildBody build_greedy_search;

}  // namespace gantry

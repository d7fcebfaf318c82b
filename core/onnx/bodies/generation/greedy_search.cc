// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/generation/greedy_search.h"

#include <string>

#include "onnx/bodies/generation/prompt.h"
#include "onnx/bodies/generation/token_scores.h"

namespace gantry {
namespace {

constexpr ScoreInputs kGreedyScores = {2, 3, 4, 5};
constexpr int kGreedyMask = 6;

}  // namespace

bool build_token_search(const BodyContext& context, BodyText& body, const ChooseToken& choose,
                        std::vector<std::string> formals) {
  const onnx::GraphProto* decoder = find_decoder(context, body);
  if (!decoder) return false;
  add_prompt(body, context, *decoder, false, kGreedyMask);
  body.number("end", int_of(context, "eos_token_id", -1));
  body.add("nobody_has_ended = Less(word_counts, word_counts)");

  DecoderLoop loop(*decoder);
  BodyText& step = loop.step();
  add_token_logits(step, context, loop.output(kLogitsOutput));
  add_token_scores(step, context, kGreedyScores, "token_logits");
  choose(body, loop);
  // Behind its end a row has pads until all rows have ended.
  step.add_lines(R"(
    ends_now = Equal(chosen_words, end)
    has_ended_now = Or(has_ended, ends_now)
    next_words = Where(has_ended_now, pad, chosen_words)
    longer_tokens = Concat<axis = 1>(tokens, next_words)
    goes_on = Not(has_ended_now)
    goes_on_counts = Cast<to = 7>(goes_on)
    going_on = ReduceSum<keepdims = 0>(goes_on_counts)
    running = Cast<to = 9>(going_on))");
  carry_words(loop);
  loop.carry("tokens", type_of_rank(onnx::TensorProto::INT64, 2), "prompt", "longer_tokens");
  loop.carry("has_ended", type_of_rank(onnx::TensorProto::BOOL, 2), "nobody_has_ended",
             "has_ended_now");
  for (int i = kFirstPast; i < loop.inputs(); ++i)
    loop.carry_input(i, "no_past", loop.output(i - kFirstPast + kFirstPresent));
  loop.add_to(body, "limit", "running");

  // Pads follow where all have ended early.
  body.extent("found_words", "tokens_end", 1);
  body.ints("before", {0, 0, 0});
  body.add_lines(R"(
    missing_words = Sub(most_words, found_words)
    margins = Concat<axis = 0>(before, missing_words)
    padded = Pad(tokens_end, margins, pad)
    sequences = Cast<to = 6>(padded))");
  for (const char* formal : {"input_ids", "max_length", "min_length", "repetition_penalty",
                             "vocab_mask", "prefix_vocab_mask", "attention_mask"})
    formals.emplace_back(formal);
  return loop.keeps_apart(body, formals);
}

bool build_greedy_search(const BodyContext& context, BodyText& body) {
  const auto choose = [](BodyText&, DecoderLoop& loop) {
    loop.step().add("chosen_words = ArgMax<axis = 1, keepdims = 1>(token_scores)");
  };
  return build_token_search(context, body, choose, {});
}

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/generation/beam_search.h"

#include <limits>
#include <string>
#include <utility>

#include "onnx/bodies/generation/decoder_loop.h"
#include "onnx/bodies/generation/encoder_decoder.h"
#include "onnx/bodies/generation/prompt.h"
#include "onnx/bodies/generation/token_scores.h"

namespace gantry {
namespace {

// Input indices.
constexpr ScoreInputs kBeamScores = {2, 6, 7, 8};
constexpr int kLengthPenalty = 5;
constexpr int kBeamMask = 9;
constexpr int kDecoderIds = 10;
constexpr int kLogitsProcessor = 11;
constexpr int kTemperature = 14;
constexpr std::pair<int, const char*> kRefusedInputs[] = {{kLogitsProcessor, "logits_processor"},
                                                          {12, "cross_qk_layer_head"},
                                                          {13, "extra_decoding_ids"}};
constexpr std::pair<int, const char*> kRefusedOutputs[] = {{3, "cross_qk"},
                                                           {4, "non_speech_probs"}};
constexpr int kScoresOutput = 2;

// What the loop begins with. A hypothesis is a sequence that has ended; num_beams are kept for each
// of the batch, the best first, with the score -infinity where there are fewer.
void add_beginning(BodyText& body, const BodyContext& context) {
  body.number("end", int_of(context, "eos_token_id", -1));
  body.number("zero", int64_t{0});
  body.number("two", int64_t{2});
  body.number("impossible", -std::numeric_limits<float>::infinity());
  // All beams are the same at first: only one may be continued.
  body.number("of_others", -1e9F);
  body.number("of_first", 0.0F);
  if (context.hasInput(kLengthPenalty)) {
    body.add("length_exponent = Cast<to = 1>(length_penalty)");
  } else {
    body.number("length_exponent", 1.0F);
  }
  body.ints("as_column", {-1, 1});
  body.add_lines(R"(
    twice_beams = Mul(beams, two)
    beam_of_row = Mod(numbers_of_rows, beams)
    is_other = Cast<to = 9>(beam_of_row)
    first_beam_scores = Where(is_other, of_others, of_first)
    by_beam = Concat<axis = 0>(batch, beams)
    by_beam_and_place = Concat<axis = 0>(by_beam, length)
    no_hypotheses = Expand(pad, by_beam_and_place)
    no_hypothesis_scores = Expand(impossible, by_beam))");
  body.count("numbers_of_batch", "batch");
  body.add_lines(R"(
    batch_column = Reshape(numbers_of_batch, as_column)
    first_rows = Mul(batch_column, beams)
    first_of_pairs = Mul(batch_column, twice_beams)
    is_done_first = Less(batch_column, batch_column))");
  body.count("order_up", "twice_beams");
  body.add_lines(R"(
    order_down = Sub(twice_beams, order_up)
    order = Cast<to = 1>(order_down))");
  body.ints("first_beam", {0});
  body.ints("first_beam_end", {1});
  body.ints("by_batch_axes", {-1});
}

// `to`: the scores `sums` of sequences of `places` tokens, by which hypotheses are compared.
void add_hypothesis_scores(BodyText& text, const std::string& to, const std::string& sums,
                           const std::string& places) {
  text.add(to + "_places = Cast<to = 1>(" + places + ")");
  text.add(to + "_weight = Pow(" + to + "_places, length_exponent)");
  text.add(to + " = Div(" + sums + ", " + to + "_weight)");
}

// The best `count` of two lists of hypotheses, [batch, beams] scores and [batch, beams, places]
// words: `to`_scores and `to`_words. Of equal ones those of the first list come first.
void add_best(BodyText& text, const std::string& to, const std::string& scores,
              const std::string& words, const std::string& other_scores,
              const std::string& other_words, const std::string& places, const std::string& count) {
  text.join(to + "_all_scores", scores, other_scores, 1);
  text.join(to + "_all_words", words, other_words, 1);
  text.add(to + "_scores, " + to + "_picks = TopK<axis = 1>(" + to + "_all_scores, " + count + ")");
  text.reshape(to + "_rows", to + "_all_words", std::vector<std::string>{"by_batch_axes", places});
  text.add(to + "_picked_rows = Add(" + to + "_picks, first_of_pairs)");
  text.add(to + "_words = Gather<axis = 0>(" + to + "_rows, " + to + "_picked_rows)");
}

// From `token_scores`, [rows, vocabulary], the 2 * num_beams best continuations of each of the
// batch: `top_scores`, `top_words`, `top_rows` (whose continuation each is), and `is_end`.
void add_candidates(BodyText& step) {
  step.add_lines(R"(
    score_column = Reshape(beam_scores, as_column)
    sums = Add(token_scores, score_column)
    by_batch = Concat<axis = 0>(batch, by_batch_axes)
    sums_by_batch = Reshape(sums, by_batch)
    top_scores, top_places = TopK<axis = 1>(sums_by_batch, twice_beams)
    top_beams = Div(top_places, vocabulary)
    top_rows = Add(top_beams, first_rows)
    words_of_beams = Mul(top_beams, vocabulary)
    top_words = Sub(top_places, words_of_beams)
    is_end = Equal(top_words, end))");
}

// Of the best num_beams candidates, those that end become hypotheses.
void add_hypotheses(BodyText& step, bool stops_early) {
  const auto of_first_beams = [&](const std::string& to, const std::string& tensor) {
    step.slice(to, tensor, "first_beam", "beams", 1);
  };
  of_first_beams("is_first_end", "is_end");
  of_first_beams("first_scores", "top_scores");
  of_first_beams("first_candidates", "top_rows");
  add_hypothesis_scores(step, "ended_scores", "first_scores", "places");
  step.add_lines(R"(
    is_open = Not(is_done)
    is_hypothesis = And(is_first_end, is_open)
    new_scores = Where(is_hypothesis, ended_scores, impossible)
    new_words = Gather<axis = 0>(tokens, first_candidates))");
  add_best(step, "kept", "hypothesis_scores", "hypotheses", "new_scores", "new_words", "places",
           "beams");
  // Done: there are num_beams, and no sum of now is better than the worst of them.
  step.add("last_beam = Sub(beams, first_beam_end)");
  step.slice("worst_scores", "kept_scores", "last_beam", "beams", 1);
  step.slice("best_sums", "top_scores", "first_beam", "first_beam_end", 1);
  step.add("is_full = Greater(worst_scores, impossible)");
  add_hypothesis_scores(step, "best_now", "best_sums", "places");
  step.add_lines(R"(
    is_hopeless = GreaterOrEqual(worst_scores, best_now)
    is_finished = And(is_full, is_hopeless))");
  step.add(std::string("is_done_now = Or(is_done, ") + (stops_early ? "is_full)" : "is_finished)"));
}

// The best num_beams candidates that do not end go on; of what was done before, pads.
void add_next_beams(BodyText& step) {
  step.add_lines(R"(
    preference = Where(is_end, of_first, order)
    preferred, picks = TopK<axis = 1>(preference, beams)
    picked_scores = GatherElements<axis = 1>(top_scores, picks)
    picked_words = GatherElements<axis = 1>(top_words, picks)
    picked_rows = GatherElements<axis = 1>(top_rows, picks)
    open_scores = Where(is_done, of_first, picked_scores)
    open_words = Where(is_done, pad, picked_words)
    open_rows = Where(is_done, zero, picked_rows)
    next_beam_scores = Reshape(open_scores, flat)
    next_words = Reshape(open_words, as_column)
    next_rows = Reshape(open_rows, flat)
    continued = Gather<axis = 0>(tokens, next_rows)
    longer_tokens = Concat<axis = 1>(continued, next_words)
    is_open_now = Not(is_done_now)
    open_counts = Cast<to = 7>(is_open_now)
    open_count = ReduceSum<keepdims = 0>(open_counts)
    running = Cast<to = 9>(open_count))");
  step.ints("one_more_place", {0, 0, 0, 0, 0, 1});
  step.add("longer_hypotheses = Pad(kept_words, one_more_place, pad)");
}

// The results: the best num_return_sequences of the hypotheses and of what had not ended.
void add_results(BodyText& body, const BodyContext& context) {
  body.extent("last_places", "tokens_end", 1);
  body.add_lines(R"(
    returned_as_given = Cast<to = 7>(num_return_sequences)
    returned = Reshape(returned_as_given, flat)
    last_sums = Reshape(beam_scores_end, by_beam)
    last_shape = Concat<axis = 0>(by_beam, last_places)
    last_words = Reshape(tokens_end, last_shape))");
  add_hypothesis_scores(body, "last_scores", "last_sums", "last_places");
  body.add("unended_scores = Where(is_done_end, impossible, last_scores)");
  add_best(body, "best", "hypothesis_scores_end", "hypotheses_end", "unended_scores", "last_words",
           "last_places", "returned");
  body.ints("before", {0, 0, 0, 0, 0});
  body.add_lines(R"(
    missing_places = Sub(most_words, last_places)
    margins = Concat<axis = 0>(before, missing_places)
    padded = Pad(best_words, margins, pad)
    sequences = Cast<to = 6>(padded)
    sequences_scores = Identity(best_scores))");
  if (!context.hasOutput(kScoresOutput)) return;
  body.extent("steps", "sums_all", 0);
  body.ints("before_steps", {0, 0, 0, 0});
  body.ints("behind_others", {0, 0, 0});
  body.add_lines(R"(
    sums_shape = Concat<axis = 0>(steps, by_beam, by_batch_axes)
    sums_by_beam = Reshape(sums_all, sums_shape)
    missing_steps = Sub(more_words, steps)
    step_margins = Concat<axis = 0>(before_steps, missing_steps, behind_others)
    scores = Pad(sums_by_beam, step_margins))");
}

// The loop behind what model-specific code has added to it and to `body`.
bool add_search(BodyText& body, const BodyContext& context, DecoderLoop& loop,
                const SubgraphCopy* encoder) {
  const auto floats = [](int rank) { return type_of_rank(onnx::TensorProto::FLOAT, rank); };
  const auto words = [](int rank) { return type_of_rank(onnx::TensorProto::INT64, rank); };
  loop.carry("tokens", words(2), "prompt", "longer_tokens");
  loop.carry("beam_scores", floats(1), "first_beam_scores", "next_beam_scores");
  loop.carry("hypotheses", words(3), "no_hypotheses", "longer_hypotheses");
  loop.carry("hypothesis_scores", floats(2), "no_hypothesis_scores", "kept_scores");
  loop.carry("is_done", type_of_rank(onnx::TensorProto::BOOL, 2), "is_done_first", "is_done_now");
  if (context.hasOutput(kScoresOutput)) loop.collect("sums", onnx::TensorProto::FLOAT, 2);
  loop.add_to(body, "limit", "running");
  add_results(body, context);
  return loop.keeps_apart(
      body,
      {"input_ids", "max_length", "min_length", "num_beams", "num_return_sequences",
       "length_penalty", "repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask",
       "decoder_input_ids", "temperature"},
      encoder);
}

// The nodes that choose the next token of each beam from the decoder's logits.
void add_step(const BodyContext& context, DecoderLoop& loop, const ScoreInputs& inputs) {
  BodyText& step = loop.step();
  add_token_logits(step, context, loop.output(kLogitsOutput));
  step.add("log_probabilities = LogSoftmax<axis = -1>(token_logits)");
  add_token_scores(step, context, inputs, "log_probabilities");
  add_candidates(step);
  add_hypotheses(step, int_of(context, "early_stopping", 0) == 1);
  add_next_beams(step);
}

bool search_with_decoder(const BodyContext& context, BodyText& body) {
  const onnx::GraphProto* decoder = find_decoder(context, body);
  if (!decoder) return false;
  if (context.hasInput(kDecoderIds)) return body.refuse("decoder_input_ids: expected none");
  add_prompt(body, context, *decoder, true, kBeamMask);
  add_beginning(body, context);
  DecoderLoop loop(*decoder);
  add_step(context, loop, kBeamScores);
  carry_words(loop);
  for (int i = kFirstPast; i < loop.inputs(); ++i)
    carry_past(loop, i, i - kFirstPast + kFirstPresent, "no_past", 1);
  return add_search(body, context, loop, nullptr);
}

bool search_with_encoder(const BodyContext& context, BodyText& body, const ScoreInputs& inputs) {
  const auto model = EncoderDecoder::find(context, body);
  if (!model) return false;
  model->add_encoder(body, context, kBeamMask, kDecoderIds);
  add_beginning(body, context);
  DecoderLoop loop(model->decoder(), model->inputs_around());
  loop.begin_with(model->first_outputs());
  add_step(context, loop, inputs);
  model->carry(loop);
  return add_search(body, context, loop, &model->encoder());
}

}  // namespace

bool build_beam_search(const BodyContext& context, BodyText& body) {
  if (context.hasInput(kLogitsProcessor)) return body.refuse("logits_processor: expected none");
  return int_of(context, "model_type", 0) == 0 ? search_with_decoder(context, body)
                                               : search_with_encoder(context, body, kBeamScores);
}

bool build_whisper_beam_search(const BodyContext& context, BodyText& body) {
  for (const auto& [index, name] : kRefusedInputs) {
    if (context.hasInput(index)) return body.refuse(std::string(name) + ": expected none");
  }
  for (const auto& [index, name] : kRefusedOutputs) {
    if (context.hasOutput(index)) return body.refuse(std::string(name) + ": expected none");
  }
  ScoreInputs inputs = kBeamScores;
  inputs.temperature = kTemperature;
  return search_with_encoder(context, body, inputs);
}

}  // namespace gantry

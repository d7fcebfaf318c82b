// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/generation/token_scores.h"

#include <limits>
#include <string>
#include <utility>

namespace gantry {
namespace {

/// Makes the scores of one rule from those of the one before.
class Rules {
 public:
  Rules(BodyText& step, std::string scores) : step_(step), scores_(std::move(scores)) {}

  [[nodiscard]] const std::string& scores() const { return scores_; }

  /// Tokens for which `forbidden` is true.
  void forbid(const std::string& forbidden) {
    step_.add(forbidden + "_scores = Where(" + forbidden + ", lowest, " + scores_ + ")");
    scores_ = forbidden + "_scores";
  }

  /// A score of a token in `tokens` is divided by the penalty if it is positive, else multiplied
  /// by it.
  void punish_repetition() {
    mark("repeated", "tokens");
    step_.add_lines(R"(
      penalty = Cast<to = 1>(repetition_penalty)
      zero_score = Cast<to = 1>(no_token))");
    step_.add("is_negative = Less(" + scores_ + ", zero_score)");
    step_.add("more = Mul(" + scores_ + ", penalty)");
    step_.add("less = Div(" + scores_ + ", penalty)");
    step_.add("punished = Where(is_negative, more, less)");
    step_.add("after_repetition = Where(repeated, punished, " + scores_ + ")");
    scores_ = "after_repetition";
  }

  /// Tokens that would end a sequence of `size` tokens that is there already.
  void forbid_ngrams(int64_t size) {
    step_.ints("prefix", {size - 1});
    step_.ints("no_place", {0});
    step_.add_lines(R"(
      ngrams_or_less = Sub(places, prefix)
      ngrams = Max(ngrams_or_less, no_place))");
    step_.count("starts", "ngrams");
    step_.add("last_start = Sub(places, prefix)");
    step_.add("ends = Add(starts, prefix)");
    step_.add("ended_by = Gather<axis = 1>(tokens, ends)");
    std::string matches;
    for (int64_t i = 0; i + 1 < size; ++i) matches = match_words(i, matches);
    if (!matches.empty()) {
      // What does not match marks a token that there is not.
      step_.add("matched_by = Where(" + matches + ", ended_by, vocabulary)");
      mark("blocked", "matched_by");
    } else {
      mark("blocked", "ended_by");
    }
    forbid("blocked");
  }

 private:
  /// Whether word i of the last prefix is that of each n-gram, and `before`; "": nothing before.
  std::string match_words(int64_t i, const std::string& before) {
    const std::string at = std::to_string(i);
    std::string same = "same_" + at;
    step_.number("offset_" + at, i);
    step_.sum("then_" + at, "starts", "offset_" + at);
    step_.sum("now_" + at, "last_start", "offset_" + at);
    // Where there are fewer words than a prefix there is no n-gram, and any place will do.
    step_.add("now_there_" + at + " = Max(now_" + at + ", no_place)");
    step_.add("word_then_" + at + " = Gather<axis = 1>(tokens, then_" + at + ")");
    step_.add("word_now_" + at + " = Gather<axis = 1>(tokens, now_there_" + at + ")");
    step_.add(same + " = Equal(word_then_" + at + ", word_now_" + at + ")");
    if (before.empty()) return same;
    step_.add("match_" + at + " = And(" + before + ", " + same + ")");
    return "match_" + at;
  }

  /// `to`, a bool for each score: whether `words`, [rows, any number], has the token.
  void mark(const std::string& to, const std::string& words) {
    step_.add(to + "_shape = Shape(" + scores_ + ")");
    step_.add(to + "_words = Shape(" + words + ")");
    step_.ints(to + "_room", {0, 1});
    step_.add(to + "_wider = Add(" + to + "_shape, " + to + "_room)");
    step_.add(to + "_none = Expand(no_token, " + to + "_wider)");
    step_.add(to + "_ones = Expand(one_token, " + to + "_words)");
    step_.add(to + "_marks = ScatterElements<axis = 1>(" + to + "_none, " + words + ", " + to +
              "_ones)");
    step_.ints(to + "_from", {0});
    step_.slice(to + "_counts", to + "_marks", to + "_from", "vocabulary", 1);
    step_.add(to + " = Cast<to = 9>(" + to + "_counts)");
  }

  BodyText& step_;
  std::string scores_;
};

}  // namespace

void add_token_logits(BodyText& step, const BodyContext& context, const std::string& logits) {
  step.number("last_place", int64_t{-1});
  step.add("logits_there = Gather<axis = 1>(" + logits + ", last_place)");
  // The decoder's vocabulary may be larger, for the sake of its kernels.
  const int64_t vocabulary = int_of(context, "vocab_size", 0);
  if (vocabulary > 0) {
    step.ints("first_token", {0});
    step.ints("end_token", {vocabulary});
    step.slice("logits_used", "logits_there", "first_token", "end_token", 1);
  } else {
    step.add("logits_used = Identity(logits_there)");
  }
  step.add("token_logits = Cast<to = 1>(logits_used)");
  step.extent("vocabulary", "token_logits", 1);
}

void add_token_scores(BodyText& step, const BodyContext& context, const ScoreInputs& inputs,
                      const std::string& scores_before) {
  const auto has = [&](int input) { return input >= 0 && context.hasInput(input); };
  step.extent("places", "tokens", 1);
  step.number("lowest", std::numeric_limits<float>::lowest());
  step.number("no_token", int64_t{0});
  step.number("one_token", int64_t{1});
  Rules rules(step, scores_before);
  if (has(inputs.repetition_penalty)) rules.punish_repetition();
  if (const int64_t size = int_of(context, "no_repeat_ngram_size", 0); size > 0)
    rules.forbid_ngrams(size);
  if (has(inputs.vocab_mask)) {
    step.add_lines(R"(
      is_in_vocabulary = Cast<to = 9>(vocab_mask)
      foreign = Not(is_in_vocabulary))");
    rules.forbid("foreign");
  }
  if (has(inputs.prefix_vocab_mask)) {
    step.add_lines(R"(
      masks_of_rows = Gather<axis = 0>(prefix_vocab_mask, batch_of_row)
      may_be_first = Cast<to = 9>(masks_of_rows)
      is_later = Greater(tokens_before, no_token)
      may_follow = Or(may_be_first, is_later)
      not_first = Not(may_follow))");
    rules.forbid("not_first");
  }
  if (has(inputs.min_length)) {
    step.count("all_tokens", "vocabulary");
    step.add_lines(R"(
      least_places = Cast<to = 7>(min_length)
      is_short = Less(places, least_places)
      is_end_token = Equal(all_tokens, end)
      too_early = And(is_end_token, is_short))");
    rules.forbid("too_early");
  }
  if (has(inputs.temperature)) {
    step.add("temperature_in_floats = Cast<to = 1>(temperature)");
    step.add("token_scores = Div(" + rules.scores() + ", temperature_in_floats)");
    return;
  }
  step.add("token_scores = Identity(" + rules.scores() + ")");
}

}  // namespace gantry

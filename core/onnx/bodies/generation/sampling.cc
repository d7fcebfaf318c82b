// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/generation/sampling.h"

#include <algorithm>
#include <string>

#include "onnx/bodies/generation/greedy_search.h"

namespace gantry {
namespace {

enum Inputs : int { kPresenceMask = 7, kSeed = 8 };

// The generator of random numbers of ONNX Runtime, so that the same seed draws the same tokens:
// x becomes x * kFactor modulo kModulus (MINSTD, std::minstd_rand0 of C++).
constexpr int64_t kFactor = 16807;
constexpr int64_t kModulus = 2147483647;
constexpr int64_t kRange = kModulus - 1;  // how many numbers it has, from 1

// Draws a number in [0, 1) for each row in each step. Each takes two of the generator's, and the
// rows follow each other in one sequence.
class Draws {
 public:
  Draws(BodyText& body, const BodyContext& context) : body_(body) {
    body_.ints("modulus", {kModulus});
    body_.ints("factor", {kFactor});
    body_.ints("one_state", {1});
    body_.ints("no_seed", {0});
    if (context.hasInput(kSeed)) {
      body_.add("wide_seed = Cast<to = 7>(seed)");
      body_.reshape("seed_there", "wide_seed", std::vector<int64_t>{1});
    } else {
      body_.add("seed_there = Identity(no_seed)");
    }
    body_.add_lines(R"(
      seed_rest = Mod(seed_there, modulus)
      is_no_seed = Equal(seed_rest, no_seed)
      first_state = Where(is_no_seed, one_state, seed_rest))");
    add_powers();
  }

  // `drawn`, double [rows, 1].
  void draw(DecoderLoop& loop) {
    BodyText& step = loop.step();
    step.ints("range", {kRange});
    step.ints("range_squared", {kRange * kRange});
    step.ints("last_row", {-1});
    step.add_lines(R"(
      low_product = Mul(random_state, low_powers)
      low_draws = Mod(low_product, modulus)
      high_product = Mul(random_state, high_powers)
      high_draws = Mod(high_product, modulus)
      next_state = Gather<axis = 0>(high_draws, last_row)
      low_digits = Sub(low_draws, one_state)
      high_digits = Sub(high_draws, one_state)
      low_part = Cast<to = 11>(low_digits)
      high_part = Cast<to = 11>(high_digits)
      wide_range = Cast<to = 11>(range)
      wide_range_squared = Cast<to = 11>(range_squared)
      raised_part = Mul(high_part, wide_range)
      both_parts = Add(low_part, raised_part)
      drawn_row = Div(both_parts, wide_range_squared))");
    step.unsqueeze("drawn", "drawn_row", {1});
    loop.carry("random_state", type_of_rank(onnx::TensorProto::INT64, 1), "first_state",
               "next_state");
  }

 private:
  // `low_powers` and `high_powers`, [rows]: kFactor to the power of 2 * row + 1 and of 2 * row + 2,
  // modulo kModulus, by the binary digits of the exponent.
  void add_powers() {
    constexpr int kDigits = 31;
    body_.ints("two_states", {2});
    body_.count("row_places", "rows");
    body_.add_lines(R"(
      twice_row = Mul(row_places, two_states)
      exponents = Add(twice_row, one_state)
      power_0 = Expand(one_state, rows))");
    int64_t square = kFactor;
    for (int digit = 0; digit < kDigits; ++digit) {
      multiply(digit, square);
      square = square * square % kModulus;
    }
    body_.add("low_powers = Identity(power_" + std::to_string(kDigits) + ")");
    body_.add_lines(R"(
      high_powers_and_more = Mul(low_powers, factor)
      high_powers = Mod(high_powers_and_more, modulus))");
  }

  // `power_` of the next digit: multiplied by `square` where the exponent has this binary digit.
  void multiply(int digit, int64_t square) {
    const std::string now = std::to_string(digit);
    body_.ints("square_" + now, {square});
    body_.ints("weight_" + now, {int64_t{1} << digit});
    body_.add("shifted_" + now + " = Div(exponents, weight_" + now + ")");
    body_.add("digit_" + now + " = Mod(shifted_" + now + ", two_states)");
    body_.add("has_digit_" + now + " = Equal(digit_" + now + ", one_state)");
    body_.add("multiplied_" + now + " = Mul(power_" + now + ", square_" + now + ")");
    body_.add("rest_" + now + " = Mod(multiplied_" + now + ", modulus)");
    body_.add("power_" + std::to_string(digit + 1) + " = Where(has_digit_" + now + ", rest_" + now +
              ", power_" + now + ")");
  }

  BodyText& body_;
};

// `weighed_scores`: token_scores by temperature, without what presence_mask takes away.
void add_weighed_scores(BodyText& step, const BodyContext& context) {
  const float temperature = float_of(context, "temperature", 1);
  step.number("temperature_there", temperature > 0 ? temperature : 1.0F);
  step.add("cooled_scores = Div(token_scores, temperature_there)");
  if (!context.hasInput(kPresenceMask)) return step.add("weighed_scores = Identity(cooled_scores)");
  step.number("presence_penalty_there", float_of(context, "presence_penalty", 0));
  step.add_lines(R"(
    presence = Cast<to = 1>(presence_mask)
    presence_loss = Mul(presence, presence_penalty_there)
    weighed_scores = Sub(cooled_scores, presence_loss))");
}

// `kept_scores`: weighed_scores of the most probable tokens, whose probabilities add up to top_p;
// the others are filter_value.
void add_kept_scores(BodyText& step, const BodyContext& context) {
  const bool is_custom = int_of(context, "custom", 0) != 0;
  const float top_p = float_of(context, "top_p", 0);
  step.add("sorted_scores, sorted_tokens = TopK<axis = -1, largest = " +
           std::to_string(is_custom ? 1 : 0) + ">(weighed_scores, vocabulary)");
  step.number("token_axis", int64_t{1});
  step.number("filter_value_there", float_of(context, "filter_value", -1e20F));
  step.add_lines(R"(
    probabilities = Softmax<axis = -1>(sorted_scores)
    summed = CumSum(probabilities, token_axis))");
  if (is_custom) {  // from the most probable token on, the one that exceeds top_p still stays
    step.number("most_mass", top_p);
    step.ints("begin_place", {0});
    step.ints("last_place_there", {-1});
    step.slice("summed_but_last", "summed", "begin_place", "last_place_there", 1);
    step.ints("column_before", {0, 1, 0, 0});
    step.add_lines(R"(
      summed_before = Pad(summed_but_last, column_before)
      is_filtered = Greater(summed_before, most_mass))");
  } else {
    step.number("least_mass", 1 - top_p);
    step.add("is_improbable = LessOrEqual(summed, least_mass)");
    // The most probable token is kept in any case: with a top_p of 0, which is the default, ONNX
    // Runtime leaves that to the rounding of a sum.
    step.ints("kept_anyhow", {std::max(int_of(context, "min_tokens_to_keep", 0), int64_t{1})});
    step.count("sorted_places", "vocabulary");
    step.add_lines(R"(
      first_kept = Sub(vocabulary, kept_anyhow)
      may_be_filtered = Less(sorted_places, first_kept)
      is_filtered = And(is_improbable, may_be_filtered))");
  }
  step.add_lines(R"(
    filtered_scores = Where(is_filtered, filter_value_there, sorted_scores)
    kept_scores = ScatterElements<axis = 1>(weighed_scores, sorted_tokens, filtered_scores))");
}

// `chosen_words`: the token of kept_scores, logarithms of probabilities, at `drawn`.
void add_drawn_token(BodyText& step) {
  step.ints("one_token_there", {1});
  step.ints("last_total", {-1});
  step.ints("token_axes", {1});
  step.add_lines(R"(
    best_score, best_token = TopK<axis = -1, largest = 1>(kept_scores, one_token_there)
    wide_best = Cast<to = 11>(best_score)
    wide_scores = Cast<to = 11>(kept_scores)
    below_best = Sub(wide_scores, wide_best)
    shares = Exp(below_best)
    share_sums = CumSum(shares, token_axis)
    share_total = Gather<axis = 1>(share_sums, last_total)
    wanted_sum = Mul(drawn, share_total)
    is_before_wanted = LessOrEqual(share_sums, wanted_sum)
    counted_before = Cast<to = 7>(is_before_wanted)
    chosen_words = ReduceSum<keepdims = 1>(counted_before, token_axes))");
}

}  // namespace

bool build_sampling(const BodyContext& context, BodyText& body) {
  if (context.hasOutput(1)) return body.refuse("the output filtered_logits");
  const auto choose = [&](BodyText& around, DecoderLoop& loop) {
    Draws(around, context).draw(loop);
    add_weighed_scores(loop.step(), context);
    add_kept_scores(loop.step(), context);
    add_drawn_token(loop.step());
  };
  return build_token_search(context, body, choose, {"presence_mask", "seed"});
}

}  // namespace gantry

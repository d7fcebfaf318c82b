// SPDX-License-Identifier: Apache-2.0
#include "experts/routes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gantry::x86 {
namespace {

/// Writes the k experts of a token, the best first. Of logits that are NaN some are taken, each at
/// most once.
void choose(std::span<const float> logits, std::span<int64_t> chosen) {
  for (size_t i = 0; i < chosen.size(); ++i) {
    const auto is_taken = [&](int64_t expert) {
      const auto end = chosen.begin() + static_cast<std::ptrdiff_t>(i);
      return std::find(chosen.begin(), end, expert) != end;
    };
    int64_t best = -1;
    for (int64_t expert = 0; expert < static_cast<int64_t>(logits.size()); ++expert) {
      const bool is_better =
          best < 0 || logits[static_cast<size_t>(expert)] > logits[static_cast<size_t>(best)];
      if (is_better && !is_taken(expert)) best = expert;
    }
    chosen[i] = best;
  }
}

void divide_by_sum(std::span<float> weights) {
  const float sum = std::accumulate(weights.begin(), weights.end(), 0.0F);
  for (float& weight : weights) weight /= sum;
}

/// `shares`: the softmax of `logits` at the chosen ones, the best of which is the first.
void softmax_of_all(std::span<const float> logits, std::span<const int64_t> chosen,
                    std::span<float> shares) {
  const float largest = logits[static_cast<size_t>(chosen.front())];
  float sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  for (size_t i = 0; i < chosen.size(); ++i)
    shares[i] = std::exp(logits[static_cast<size_t>(chosen[i])] - largest) / sum;
}

/// In place: the softmax of logits whose first is the largest.
void softmax(std::span<float> logits) {
  const float largest = logits.front();
  for (float& logit : logits) logit = std::exp(logit - largest);
  divide_by_sum(logits);
}

template <class T>
std::span<T> scratch_of(sdk::Call& call, int64_t count) {
  return {call.scratch<T>(count), static_cast<size_t>(count)};
}

}  // namespace

Routes route(sdk::Call& call, const Routing& routing, int64_t tokens, const float* logits,
             const float* given) {
  const int64_t experts = routing.experts;
  const int64_t k = routing.chosen;
  const auto chosen = scratch_of<int64_t>(call, tokens * k);
  const auto weights = scratch_of<float>(call, tokens * k);
  const auto counts = scratch_of<int64_t>(call, experts);
  const auto next = scratch_of<int64_t>(call, experts);
  const auto tokens_of_rows = scratch_of<int64_t>(call, tokens * k);
  std::fill(counts.begin(), counts.end(), 0);
  const auto width = static_cast<size_t>(experts);
  const auto best = static_cast<size_t>(k);
  for (size_t token = 0; token < static_cast<size_t>(tokens); ++token) {
    const std::span<int64_t> of_token = chosen.subspan(token * best, best);
    const std::span<float> shares = weights.subspan(token * best, best);
    const std::span<const float> all(logits + token * width, width);
    choose(all, of_token);
    const float* source = given ? given : logits;
    for (size_t i = 0; i < best; ++i) {
      shares[i] = source[token * width + static_cast<size_t>(of_token[i])];
      ++counts[static_cast<size_t>(of_token[i])];
    }
    if (routing.shares == Shares::kOfChosen) softmax(shares);
    if (routing.shares == Shares::kOfAll) softmax_of_all(all, of_token, shares);
    if (routing.is_normalized) divide_by_sum(shares);
  }
  std::exclusive_scan(counts.begin(), counts.end(), next.begin(), int64_t{0});
  const std::span<int64_t> rows = chosen;  // each expert's number becomes that of its row
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t row = next[static_cast<size_t>(chosen[i])]++;
    tokens_of_rows[static_cast<size_t>(row)] = static_cast<int64_t>(i / best);
    rows[i] = row;
  }
  return {counts, tokens_of_rows, rows, weights};
}

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// Which experts of a mixture (MoE, QMoE of com.microsoft) a token goes to, and what each counts.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <span>

namespace gantry::x86 {

/// A row is a token at one of its experts; rows are ordered by expert, then by token. All memory is
/// scratch memory of the call.
struct Routes {
  std::span<const int64_t> counts;  ///< [experts]: rows of each
  std::span<const int64_t> tokens;  ///< [rows]: of each row
  std::span<const int64_t> rows;    ///< [tokens, k]: of each token, the best expert first
  std::span<const float> weights;   ///< [tokens, k]: what the expert's result is multiplied by
};

/// What a chosen expert counts: its share of a softmax over the logits, or what the router says.
enum class Shares : uint8_t { kOfChosen, kOfAll, kGiven };

struct Routing {
  int64_t experts = 0;
  int64_t chosen = 1;  ///< experts of a token, 1 to `experts`
  Shares shares = Shares::kOfChosen;
  bool is_normalized = false;  ///< what a token's experts count is divided by their sum
};

/// The largest of each token's `logits`, [tokens, experts]; among equal ones, those of lower index.
/// `given`, [tokens, experts]: what they count, if Shares::kGiven; else null.
Routes route(sdk::Call& call, const Routing& routing, int64_t tokens, const float* logits,
             const float* given);

}  // namespace gantry::x86

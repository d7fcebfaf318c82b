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

/// The `k` largest of each token's `logits`, [tokens, experts]; among equal ones, those of lower
/// index. `router_weights`, [tokens, experts]: the weights; null: softmax over the chosen logits.
/// `is_normalized`: the weights of a token are divided by their sum. Requires 1 <= k <= experts.
Routes route(sdk::Call& call, const float* logits, const float* router_weights, int64_t tokens,
             int64_t experts, int64_t k, bool is_normalized);

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// Attention of one shape, and the two ways of it.
#pragma once

#include <utility>
#include <vector>

#include "../kernels/attention.h"
#include "operators.h"

namespace gantry::cuda {

/// From so many queries on two products are worth their scores.
constexpr int kLeastQueriesOfProducts = 16;

/// All that is known when it is known where keys and values lie. Borrows the parameters.
struct AttentionCall {
  AttentionParameters& parameters;
  uint32_t dtype;  ///< of queries, keys and values
  uint32_t mask;   ///< of the mask; GANTRY_BOOL if there is none
  Buffer queries, keys, values, result;
  /// Members of the parameters that are of the mask and of the lengths.
  std::vector<std::pair<const void* const*, Buffer>> more;
};

/// A kernel that makes no matrix of scores, of any shape, whose past may lie by itself (k_past).
void plan_attention_by_strips(Planner& planner, const AttentionCall& call);

/// Two products by cuBLASLt and a softmax in between, which is faster for many queries. False, and
/// nothing is planned: cuBLASLt is not there, the scores are too few or too many, or the past lies
/// by itself.
bool plan_attention_by_products(Planner& planner, const AttentionCall& call);

}  // namespace gantry::cuda

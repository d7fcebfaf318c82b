// SPDX-License-Identifier: Apache-2.0
// Attention of one head in f32: a few queries at a time with all keys, so that no matrix of all
// scores is ever in memory. Written once with Highway for all instruction sets, see
// simd/instructions.h. Pure functions, from any thread.
#pragma once

#include <cstdint>

namespace gantry::x86 {

/// Keys stand packed in blocks of so many.
constexpr int64_t kKeyBlock = 16;
constexpr int64_t padded_keys(int64_t keys) {
  return (keys + kKeyBlock - 1) / kKeyBlock * kKeyBlock;
}

/// Queries that meet the keys at once, at most.
constexpr int64_t kMostQueries = 14;

/// One head, or the same query of several heads that share keys and values. Strides are in
/// elements, from row to row; elements of a row stand next to each other.
struct Head {
  int64_t keys = 0;
  int64_t depth = 0;        ///< of a query and a key
  int64_t value_depth = 0;  ///< of a value and a result
  float scale = 1;          ///< of the scores
  const float* query = nullptr;
  int64_t query_stride = 0;
  const float* packed_keys = nullptr;  ///< as pack_keys leaves them; null: `key` is read
  const float* key = nullptr;
  int64_t key_stride = 0;
  const float* value = nullptr;
  int64_t value_stride = 0;
  const float* mask = nullptr;  ///< added to the scores; null: nothing is
  int64_t mask_stride = 0;      ///< from query to query
  int64_t mask_step = 0;        ///< from key to key: 0 or 1
  /// A mask of -infinity hides any score, and a query that sees nothing has the result 0; else both
  /// are what comes of adding and dividing.
  bool hides = false;
  float* target = nullptr;
  int64_t target_stride = 0;
};

/// Elements of scratch memory that attend() needs for a head of queries of `depth`.
int64_t attention_scratch(int64_t keys, int64_t depth);

/// Results of queries [begin, end) of a head.
void attend(const Head& head, int64_t begin, int64_t end, float* scratch);

/// Keys into [padded_keys(keys) / kKeyBlock, depth, kKeyBlock], missing ones being zero. `row`:
/// from key to key; `step`: from element to element of one.
void pack_keys(const float* source, int64_t row, int64_t step, int64_t keys, int64_t depth,
               float* target);

}  // namespace gantry::x86

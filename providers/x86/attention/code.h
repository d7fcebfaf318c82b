// SPDX-License-Identifier: Apache-2.0
// f32 attention of one head: a few queries at a time against all keys, so that the score matrix is
// never in memory as a whole. Written once with Highway for all instruction sets
// (simd/instructions.h). Pure functions, from any thread.
#pragma once

#include <cstdint>

namespace gantry::x86 {

/// Keys of a packed block.
constexpr int64_t kKeyBlock = 16;
constexpr int64_t padded_keys(int64_t keys) {
  return (keys + kKeyBlock - 1) / kKeyBlock * kKeyBlock;
}

/// Most queries of a tile.
constexpr int64_t kMostQueries = 14;

/// One head, or one query of several heads that share keys and values (grouped-query attention; the
/// heads are then the rows). Strides are in elements, from row to row; a row is contiguous.
struct Head {
  int64_t keys = 0;
  int64_t depth = 0;        ///< of a query and a key
  int64_t value_depth = 0;  ///< of a value and a result
  float scale = 1;          ///< of the scores
  const float* query = nullptr;
  int64_t query_stride = 0;
  const float* packed_keys = nullptr;  ///< by pack_keys(); null: `key` is read
  const float* key = nullptr;
  int64_t key_stride = 0;
  const float* value = nullptr;
  int64_t value_stride = 0;
  const float* mask = nullptr;  ///< added to the scores; null: none
  int64_t mask_stride = 0;      ///< from query to query
  int64_t mask_step = 0;        ///< from key to key: 0 or 1
  /// true, as the operator Attention has it: a key whose mask is -infinity is hidden whatever its
  /// score, and a query whose keys are all hidden has the result 0. false: plain arithmetic, which
  /// may make NaN.
  bool hides = false;
  /// Of all keys and values: a key that the mask hides then has a share of 0 and adds nothing, and
  /// those before the first and behind the last that some query of a tile sees are left out.
  bool are_finite = false;
  float* target = nullptr;
  int64_t target_stride = 0;
};

/// Elements of scratch memory for attend().
int64_t attention_scratch(int64_t keys, int64_t depth);

/// Computes the results of queries [begin, end) of a head. `scratch`: attention_scratch() elements.
void attend(const Head& head, int64_t begin, int64_t end, float* scratch);

/// Whether [rows, width], rows `stride` apart, has neither NaN nor infinity.
bool are_finite(const float* source, int64_t rows, int64_t stride, int64_t width);

/// Packs keys into [padded_keys(keys) / kKeyBlock, depth, kKeyBlock], padded with zeros. `row`:
/// stride from key to key; `step`: from element to element of a key.
void pack_keys(const float* source, int64_t row, int64_t step, int64_t keys, int64_t depth,
               float* target);

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// One kernel that prepares heads for attention: adds biases, applies rotary embeddings and writes
// keys and values into a cache.
#pragma once

#include <utility>
#include <vector>

#include "kernels/attention/heads.h"
#include "operators/attention/attention_heads.h"

namespace gantry::cuda {

/// Collects up to three moves and plans them as one launch. One thread.
class HeadsMove {
 public:
  /// Tokens of each row of the batch.
  HeadsMove(int64_t batch, int64_t length) : batch_(batch) {
    parameters_.length = static_cast<int>(length);
  }

  /// What a move does to its heads.
  struct Change {
    std::optional<Buffer> bias;  ///< [heads, width], added
    bool is_rotated = false;     ///< by the angles given to rotate()
    bool is_cached = false;      ///< the target is a cache; see position()
  };
  /// Adds a move. At most three, each with the batch's number of tokens in `from`.
  void add(const HeadsBuffer& from, const HeadsBuffer& to, const Change& change);

  /// Sets the positions of the tokens in the caches. `positions`: its pointers are replaced by the
  /// addresses of `last_keys` and, unless null, `total`. `capacity`: rows of the caches.
  void position(const CachePositions& positions, const Buffer& last_keys, const Buffer* total,
                int64_t capacity);
  /// Sets the rotary embedding. `cosines`, `sines`: [rows, pairs] of `dtype`. `positions`: rows of
  /// these, [batch, length] of int64; null: the positions of the tokens.
  void rotate(const Buffer& cosines, const Buffer& sines, uint32_t dtype, int64_t rows,
              int64_t pairs, bool is_interleaved, const Buffer* positions);

  /// Plans the launch for tensors of `dtype`; none if no move was added.
  void plan(Planner& planner, uint32_t dtype);

 private:
  int64_t batch_;
  HeadsParameters parameters_ = {};
  std::vector<std::pair<const void* const*, Buffer>> addresses_;
  int count_ = 0;
  int widest_ = 1;
  uint32_t angles_ = GANTRY_FLOAT;
};

}  // namespace gantry::cuda

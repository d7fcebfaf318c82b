// SPDX-License-Identifier: Apache-2.0
// One kernel that brings heads of queries, keys and values to where attention reads them.
#pragma once

#include <utility>
#include <vector>

#include "../kernels/heads.h"
#include "attention_heads.h"

namespace gantry::cuda {

/// Gathers what is moved, then launches it. One thread; pure but for the planner.
class HeadsMove {
 public:
  /// Tokens of each row of the batch.
  HeadsMove(int64_t batch, int64_t length) : batch_(batch) {
    parameters_.length = static_cast<int>(length);
  }

  /// How what is moved is changed.
  struct Change {
    std::optional<Buffer> bias;  ///< [heads, width], added
    bool is_turned = false;      ///< by the angles of `turn`
    bool is_placed = false;      ///< the target is a cache, and tokens go to the places of `place`
  };
  /// At most three times, each with the length of the batch's tokens in `from`.
  void add(const PlacedHeads& from, const PlacedHeads& to, const Change& change);

  /// Where tokens go; members that are null get the addresses. `capacity`: rows of the caches.
  void place(const CachePlaces& places, const Buffer& last_keys, const Buffer* total,
             int64_t capacity);
  /// Cosines and sines are [rows, pairs] of `dtype`; `places`, [batch, length] of int64, or null:
  /// where tokens go.
  void turn(const Buffer& cosines, const Buffer& sines, uint32_t dtype, int64_t rows, int64_t pairs,
            bool is_interleaved, const Buffer* places);

  /// Launches it for tensors of `dtype`; nothing if nothing was added.
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

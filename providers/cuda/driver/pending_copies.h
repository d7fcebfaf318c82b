// SPDX-License-Identifier: Apache-2.0
// Copies to the host whose last step, from pinned memory to the caller's memory, is not done yet.
// The thread that observes the device's completion does it. Any thread.
#pragma once

#include <gantry/provider.h>
#include <gantry/sdk/mutex.h>

#include <cstdint>
#include <deque>

#include "driver/staging.h"

namespace gantry::cuda {

/// Bytes of all rows of a copy, without the gaps between them.
uint64_t bytes_of(const gantry_copy& copy);
/// Bytes from the first to the last of a copy's rows at that pitch, the gaps included.
uint64_t span_of(const gantry_copy& copy, uint64_t pitch);
/// Copies the rows of `copy` between two places in host memory.
void copy_rows(std::byte* to, uint64_t to_pitch, const std::byte* from, uint64_t from_pitch,
               const gantry_copy& copy);

/// Unfinished copies to the host of one stream: each is enqueued to pinned memory, and has not been
/// copied on to the caller's memory.
class PendingCopies {
 public:
  explicit PendingCopies(Staging& staging) : staging_(staging) {}
  ~PendingCopies();
  PendingCopies(const PendingCopies&) = delete;
  PendingCopies& operator=(const PendingCopies&) = delete;

  /// Adds a copy of `copy.rows` rows, which are contiguous in the block.
  void add(StagingBlock* block, const gantry_copy& copy);
  /// Sequence number of the last copy, from 1.
  [[nodiscard]] uint64_t last() const;
  /// Whether a copy up to `number` is unfinished.
  [[nodiscard]] bool has_until(uint64_t number) const;
  /// Whether an unfinished copy writes into that memory.
  [[nodiscard]] bool writes(const void* memory, uint64_t size_bytes) const;
  /// Finishes copies up to `number`. Requires the device to be done with them.
  void finish(uint64_t number);

 private:
  struct Item {
    uint64_t number;
    StagingBlock* block;
    gantry_copy copy;
  };

  Staging& staging_;
  mutable sdk::Mutex mutex_;
  std::deque<Item> items_ GANTRY_GUARDED_BY(mutex_);
  uint64_t last_ GANTRY_GUARDED_BY(mutex_) = 0;
};

}  // namespace gantry::cuda

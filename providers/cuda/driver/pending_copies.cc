// SPDX-License-Identifier: Apache-2.0
#include "driver/pending_copies.h"

#include <algorithm>
#include <cstring>

namespace gantry::cuda {

uint64_t bytes_of(const gantry_copy& copy) { return copy.rows * copy.row_bytes; }

uint64_t span_of(const gantry_copy& copy, uint64_t pitch) {
  return bytes_of(copy) == 0 ? 0 : (copy.rows - 1) * pitch + copy.row_bytes;
}

void copy_rows(std::byte* to, uint64_t to_pitch, const std::byte* from, uint64_t from_pitch,
               const gantry_copy& copy) {
  if (to_pitch == copy.row_bytes && from_pitch == copy.row_bytes) {
    std::memcpy(to, from, bytes_of(copy));
    return;
  }
  for (uint64_t row = 0; row < copy.rows; ++row)
    std::memcpy(to + row * to_pitch, from + row * from_pitch, copy.row_bytes);
}

PendingCopies::~PendingCopies() {
  for (const Item& item : items_) staging_.give(item.block);
}

void PendingCopies::add(StagingBlock* block, const gantry_copy& copy) {
  const sdk::MutexLock lock(mutex_);
  items_.push_back({++last_, block, copy});
}

uint64_t PendingCopies::last() const {
  const sdk::MutexLock lock(mutex_);
  return last_;
}

bool PendingCopies::has_until(uint64_t number) const {
  const sdk::MutexLock lock(mutex_);
  return !items_.empty() && items_.front().number <= number;
}

bool PendingCopies::writes(const void* memory, uint64_t size_bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const sdk::MutexLock lock(mutex_);
  return std::any_of(items_.begin(), items_.end(), [&](const Item& item) {
    const auto target = reinterpret_cast<uintptr_t>(item.copy.target);
    return begin < target + span_of(item.copy, item.copy.target_pitch) &&
           target < begin + size_bytes;
  });
}

void PendingCopies::finish(uint64_t number) {
  const sdk::MutexLock lock(mutex_);
  while (!items_.empty() && items_.front().number <= number) {
    const Item& item = items_.front();
    copy_rows(static_cast<std::byte*>(item.copy.target), item.copy.target_pitch, item.block->data,
              item.copy.row_bytes, item.copy);
    staging_.give(item.block);
    items_.pop_front();
  }
}

}  // namespace gantry::cuda

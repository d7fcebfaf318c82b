// SPDX-License-Identifier: Apache-2.0
#include "driver/staging.h"

#include <algorithm>
#include <bit>

namespace gantry::cuda {
namespace {

constexpr uint64_t kLeastBytes = 4096;
constexpr size_t kMostBlocks = 256;

}  // namespace

Staging::~Staging() {
  for (const auto& block : blocks_) {
    device_.driver.event_destroy(block->done);
    device_.driver.host_free(block->data);
  }
}

void Staging::collect() {
  const auto done = std::partition(busy_.begin(), busy_.end(), [&](const StagingBlock* block) {
    return device_.driver.event_query(block->done) == kNotReady;
  });
  free_.insert(free_.end(), done, busy_.end());
  busy_.erase(done, busy_.end());
}

StagingBlock* Staging::take_free(uint64_t size_bytes) {
  const auto fitting = std::find_if(free_.begin(), free_.end(), [&](const StagingBlock* block) {
    return block->size_bytes == size_bytes;
  });
  if (fitting == free_.end()) return nullptr;
  StagingBlock* const block = *fitting;
  free_.erase(fitting);
  return block;
}

StagingBlock* Staging::take(uint64_t size_bytes) {
  const uint64_t rounded = std::bit_ceil(std::max(size_bytes, kLeastBytes));
  const sdk::MutexLock lock(mutex_);
  if (StagingBlock* const block = take_free(rounded)) return block;
  // Only if no free block is left does this query the driver, once for each busy block.
  collect();
  if (StagingBlock* const block = take_free(rounded)) return block;
  if (blocks_.size() == kMostBlocks) return nullptr;
  auto block = std::make_unique<StagingBlock>();
  void* data = nullptr;
  if (device_.driver.host_allocate(&data, rounded, 0) != kSuccess) return nullptr;
  if (device_.driver.event_create(&block->done, kNoTiming) != kSuccess) {
    device_.driver.host_free(data);
    return nullptr;
  }
  block->data = static_cast<std::byte*>(data);
  block->size_bytes = rounded;
  blocks_.push_back(std::move(block));
  return blocks_.back().get();
}

void Staging::give(StagingBlock* block) {
  const sdk::MutexLock lock(mutex_);
  free_.push_back(block);
}

void Staging::give_after(StagingBlock* block, StreamHandle stream) {
  device_.require(device_.driver.event_record(block->done, stream), "marking a copy's end");
  const sdk::MutexLock lock(mutex_);
  busy_.push_back(block);
}

}  // namespace gantry::cuda

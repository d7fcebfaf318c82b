// SPDX-License-Identifier: Apache-2.0
#include "driver/copy_in_parts.h"

#include <gantry/sdk/mutex.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace gantry::cuda {
namespace {

constexpr uint64_t kPartBytes = uint64_t{1} << 20;
constexpr unsigned kMostThreads = 4;  // together they read memory as fast as the link takes it
constexpr size_t kBlocksEach = 2;     // one is filled while the device reads the other

// A copy that its threads take parts of.
class PartedCopy {
 public:
  PartedCopy(Device& device, StreamHandle stream, Address target, const std::byte* source,
             uint64_t size_bytes)
      : device_(device),
        stream_(stream),
        target_(target),
        source_(source),
        size_bytes_(size_bytes) {}

  [[nodiscard]] uint64_t part_count() const { return (size_bytes_ + kPartBytes - 1) / kPartBytes; }

  // Copies parts until none is left, or one fails. Requires the device's context to be the
  // thread's.
  void serve(std::array<StagingBlock*, kBlocksEach>& blocks) {
    for (size_t round = 0; !has_failed_; ++round) {
      const uint64_t part = next_++;
      if (part >= part_count()) return;
      StagingBlock* const block = blocks.at(round % kBlocksEach);
      if (round >= kBlocksEach)
        device_.require(device_.driver.event_synchronize(block->done), "waiting for a copy");
      const uint64_t from = part * kPartBytes;
      const uint64_t bytes = std::min(kPartBytes, size_bytes_ - from);
      std::memcpy(block->data, source_ + from, bytes);
      device_.require(device_.driver.copy_in(target_ + from, block->data, bytes, stream_),
                      "copying to the device");
      device_.require(device_.driver.event_record(block->done, stream_), "marking a copy's end");
    }
  }

  // serve() on a thread of its own; rethrow() tells of its failure.
  void serve_elsewhere(std::array<StagingBlock*, kBlocksEach>& blocks) noexcept {
    try {
      const ContextScope inside(device_);
      serve(blocks);
    } catch (...) {
      has_failed_ = true;
      const sdk::MutexLock lock(mutex_);
      failure_ = std::current_exception();
    }
  }

  void rethrow() {
    const sdk::MutexLock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  Device& device_;
  const StreamHandle stream_;
  const Address target_;
  const std::byte* const source_;
  const uint64_t size_bytes_;
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> has_failed_{false};
  sdk::Mutex mutex_;
  std::exception_ptr failure_ GANTRY_GUARDED_BY(mutex_);
};

// The pinned blocks of all threads; as many whole threads' as there is memory for.
class Blocks {
 public:
  Blocks(Staging& staging, StreamHandle stream, size_t threads)
      : staging_(staging), stream_(stream) {
    for (size_t thread = 0; thread < threads; ++thread) {
      std::array<StagingBlock*, kBlocksEach> taken{};
      for (StagingBlock*& block : taken) block = staging.take(kPartBytes);
      if (std::all_of(taken.begin(), taken.end(), [](const auto* block) { return block; })) {
        of_thread_.push_back(taken);
        continue;
      }
      for (StagingBlock* block : taken) {
        if (block) staging.give(block);
      }
      return;
    }
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  // The device may still read them. A stream that is lost marks no end, and nothing is read.
  ~Blocks() {
    for (const auto& taken : of_thread_) {
      for (StagingBlock* block : taken) {
        try {
          staging_.give_after(block, stream_);
        } catch (const sdk::Error&) {
          staging_.give(block);
        }
      }
    }
  }

  [[nodiscard]] size_t thread_count() const { return of_thread_.size(); }
  std::array<StagingBlock*, kBlocksEach>& of(size_t thread) { return of_thread_.at(thread); }

 private:
  Staging& staging_;
  const StreamHandle stream_;
  std::vector<std::array<StagingBlock*, kBlocksEach>> of_thread_;
};

}  // namespace

bool copy_in_parts(Device& device, StreamHandle stream, Address target, const std::byte* source,
                   uint64_t size_bytes) {
  PartedCopy copy(device, stream, target, source, size_bytes);
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  Blocks blocks(
      device.staging(), stream,
      static_cast<size_t>(std::min<uint64_t>(copy.part_count(), std::min(cores, kMostThreads))));
  if (blocks.thread_count() == 0) return false;
  {
    std::vector<std::jthread> threads;
    for (size_t thread = 1; thread < blocks.thread_count(); ++thread) {
      try {
        threads.emplace_back([&copy, &blocks, thread] { copy.serve_elsewhere(blocks.of(thread)); });
      } catch (const std::system_error&) {
        break;  // this thread does what is left
      }
    }
    copy.serve_elsewhere(blocks.of(0));
  }
  copy.rethrow();
  return true;
}

}  // namespace gantry::cuda

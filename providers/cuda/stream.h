// SPDX-License-Identifier: Apache-2.0
// Streams, events and captures over the driver's. A copy to the host goes to pinned memory first;
// what is left to do with it is done by whoever learns that the stream has come that far: a wait
// for the stream or for an event of it, or a query. Any thread may use a stream, one at a time.
#pragma once

#include <gantry/provider.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "device.h"

namespace gantry::cuda {

/// Results in pinned memory that the host does not have yet, of one stream. Any thread.
class Outbox {
 public:
  explicit Outbox(Staging& staging) : staging_(staging) {}
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// A copy of `copy.rows` rows, which lie in the block without gaps.
  void add(StagingBlock* block, const gantry_copy& copy);
  /// Number of the copy added last, from 1.
  [[nodiscard]] uint64_t last() const;
  /// Whether copies up to `number` are still to be finished.
  [[nodiscard]] bool has_until(uint64_t number) const;
  /// Whether a copy to be finished writes into that memory.
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
  mutable std::mutex mutex_;
  std::deque<Item> items_;
  uint64_t last_ = 0;
};

class Stream {
 public:
  explicit Stream(Device& device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void copy(const gantry_copy& copy);
  /// A copy from another device's memory to this one's, after the work that `source_stream`, of
  /// that device, was given so far. Neither it nor the caller waits.
  void copy_from(Stream& source_stream, void* target, const void* source, uint64_t size_bytes);
  void synchronize();
  /// One of the provider's kernels, whose only parameter is at `parameters`. It may begin before
  /// the kernel before it has ended, if that is one of the provider's too: all of them wait for
  /// that first of all (kernels/prelude.cu). Requires the device's context to be the thread's.
  /// DEVICE_ERROR, DEVICE_LOST.
  void launch(FunctionHandle function, unsigned blocks, unsigned threads, void* parameters);

  /// Capture: see gantry_provider_api.
  void capture_begin();
  GraphExecHandle capture_end();

  [[nodiscard]] Device& device() const { return device_; }
  /// For giving the stream work of another kind than kernels of the provider.
  [[nodiscard]] StreamHandle handle() {
    is_behind_kernel_ = false;
    return handle_;
  }
  [[nodiscard]] const std::shared_ptr<Outbox>& outbox() const { return outbox_; }

 private:
  void copy_in(const gantry_copy& copy);
  void copy_out(const gantry_copy& copy);
  void issue(const gantry_copy& copy);

  Device& device_;
  StreamHandle handle_ = nullptr;
  // What it was given last is a kernel of the provider.
  std::atomic<bool> is_behind_kernel_{false};
  bool has_early_ = false;          // a launch since a capture began may begin early
  EventHandle given_ = nullptr;     // recorded where another device goes on; made on first use
  std::shared_ptr<Outbox> outbox_;  // shared with events, which may outlive the stream
};

/// An event that was never recorded is complete.
class Event {
 public:
  explicit Event(Device& device);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(Stream& stream);
  void wait(Stream& stream);
  void synchronize();
  [[nodiscard]] bool query();
  [[nodiscard]] Device& device() const { return device_; }

 private:
  void finish();

  Device& device_;
  EventHandle handle_ = nullptr;
  std::shared_ptr<Outbox> outbox_;  // of the stream recorded last
  uint64_t number_ = 0;             // of the last copy before the event
};

/// A graph that can be launched.
struct Capture {
  Device& device;
  GraphExecHandle graph;
  void launch(Stream& stream) const;
};

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// Streams: copies, launches and their order. A copy to the host first goes to pinned memory; the
// thread that observes its completion, by a wait for the stream or an event or by a query, copies
// it on. Any thread may use a stream, one at a time. Methods throw DEVICE_LOST and DEVICE_ERROR.
#pragma once

#include <gantry/provider.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "driver/device.h"
#include "driver/pending_copies.h"

namespace gantry::cuda {

class Stream {
 public:
  explicit Stream(Device& device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Enqueues a copy between host and device or within the device. The caller must not touch host
  /// memory of the copy until it is complete. UNSUPPORTED: another kind of copy.
  void copy(const gantry_copy& copy);
  /// Copies from another device's memory to this one's, ordered after the work that
  /// `source_stream`, of that device, has so far. The call does not wait.
  void copy_from(Stream& source_stream, void* target, const void* source, uint64_t size_bytes);
  /// Waits for all work and finishes copies to the host.
  void synchronize();
  /// Launches a kernel of the provider with the struct at `parameters`. It may start before the
  /// preceding kernel of the provider has ended (programmatic dependent launch), because every
  /// kernel waits for its predecessor before it touches memory (kernels/prelude.cu). Requires the
  /// device's context to be the thread's. DEVICE_ERROR, DEVICE_LOST.
  void launch(FunctionHandle function, unsigned blocks, unsigned threads, void* parameters);

  /// Whether a dependent launch was enqueued since set_no_dependent_launch(). For captures.
  [[nodiscard]] bool has_dependent_launch() const { return has_dependent_launch_; }
  void set_no_dependent_launch() { has_dependent_launch_ = false; }

  [[nodiscard]] Device& device() const { return device_; }
  /// The driver's handle, for enqueueing anything but kernels of the provider.
  [[nodiscard]] StreamHandle handle() {
    is_behind_kernel_ = false;
    return handle_;
  }
  [[nodiscard]] const std::shared_ptr<PendingCopies>& pending_copies() const {
    return pending_copies_;
  }

 private:
  void copy_in(const gantry_copy& copy);
  void copy_out(const gantry_copy& copy);
  void issue(const gantry_copy& copy);

  Device& device_;
  StreamHandle handle_ = nullptr;
  // The last work on the stream is a kernel of the provider.
  std::atomic<bool> is_behind_kernel_{false};
  bool has_dependent_launch_ = false;
  EventHandle given_ = nullptr;  // for copies to other devices; made on first use
  std::shared_ptr<PendingCopies>
      pending_copies_;  // shared with events, which may outlive the stream
};

}  // namespace gantry::cuda

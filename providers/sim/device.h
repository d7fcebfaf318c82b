// SPDX-License-Identifier: Apache-2.0
// An open simulated device: its memory, the counters that trigger its faults, and whether it is
// lost. Any thread.
#pragma once

#include <gantry/sdk/error.h>
#include <gantry/sdk/mutex.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "journal.h"
#include "memory.h"
#include "options.h"

namespace gantry::sim {

/// A barrier at which the first kernels of several devices wait for each other, which proves to a
/// test that devices run concurrently. Opens once, at the latest after ten seconds.
class Rendezvous {
 public:
  /// Blocks until `devices` devices have arrived, `id` among them.
  void arrive(uint32_t id, uint32_t devices);

 private:
  sdk::Mutex mutex_;
  sdk::CondVar changed_;
  uint64_t arrived_ GANTRY_GUARDED_BY(mutex_) = 0;  // one bit for each id
};

/// Everything passed to the constructor must outlive the device.
class Device {
 public:
  Device(const gantry_host* host_table, uint32_t number, const Options& with, Journal& log,
         Rendezvous& place)
      : host(host_table),
        id(number),
        options(with),
        journal(log),
        rendezvous(place),
        memory(with.memory_bytes) {}

  [[nodiscard]] std::string name() const { return "SIM:" + std::to_string(id); }
  /// Throws DEVICE_LOST once the device is lost.
  void require_alive() const;
  void lose() { is_lost_ = true; }

  /// Allocates device memory. Throws OUT_OF_MEMORY if there is none or the `allocate` fault
  /// strikes, and INVALID_ARGUMENT while this thread captures.
  void* allocate(uint64_t size_bytes);
  void free(void* address);

  /// Number of captures that this thread has begun and not ended, on streams of any device.
  static int& captures_here();

  /// Ordinals of the device's kernels and copies, from 1, and of its streams, from 0.
  uint64_t next_kernel() { return ++kernels_; }
  uint64_t next_copy() { return ++copies_; }
  uint32_t next_stream() { return streams_++; }
  /// The faults of the options if they concern this device, otherwise null.
  [[nodiscard]] const Faults* faults() const {
    return options.faults.concern(id) ? &options.faults : nullptr;
  }

  const gantry_host* const host;
  const uint32_t id;
  const Options& options;
  Journal& journal;
  Rendezvous& rendezvous;
  Memory memory;

 private:
  std::atomic<bool> is_lost_{false};
  std::atomic<uint64_t> allocations_{0};
  std::atomic<uint64_t> kernels_{0};
  std::atomic<uint64_t> copies_{0};
  std::atomic<uint32_t> streams_{0};
};

}  // namespace gantry::sim

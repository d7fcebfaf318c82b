// SPDX-License-Identifier: Apache-2.0
// A device in use: its memory, what is counted for its faults, and whether it is lost. Any thread.
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

/// Where the kernels of several devices wait until each of them has begun one: the proof that they
/// overlap. Opens once, and after ten seconds in any case.
class Rendezvous {
 public:
  void arrive(uint32_t id, uint32_t devices);

 private:
  sdk::Mutex mutex_;
  sdk::CondVar changed_;
  uint64_t arrived_ GANTRY_GUARDED_BY(mutex_) = 0;  // one bit for each id
};

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
  /// DEVICE_LOST once the device is.
  void require_alive() const;
  void lose() { is_lost_ = true; }

  /// Device memory. OUT_OF_MEMORY: none, or the fault. INVALID_ARGUMENT: this thread captures.
  void* allocate(uint64_t size_bytes);
  void free(void* address);

  /// Captures that this thread has begun and not ended, on streams of any device.
  static int& captures_here();

  /// Counted turns of work, from 1.
  uint64_t next_kernel() { return ++kernels_; }
  uint64_t next_copy() { return ++copies_; }
  uint32_t next_stream() { return streams_++; }
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

// SPDX-License-Identifier: Apache-2.0
// A record for tests of what the simulated devices did: counters, and the begin and end of every
// task, in one order over all streams and devices. The provider has one journal; slot native_handle
// returns it for any device and kind "sim.journal". Counters may be read by any thread at any time,
// entries only while no work is queued.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace gantry::sim {

struct Journal {
  enum class Kind : uint8_t { kKernel, kCopyIn, kCopyOut, kCopyWithin, kCopyBetween, kLaunch };

  struct Entry {
    uint32_t device = 0;
    uint32_t stream = 0;  ///< number on its device, from 0
    Kind kind = Kind::kKernel;
    bool is_end = false;
    std::array<char, 54> name = {};  ///< of a kernel: `Relu "r1"`, truncated to fit
  };
  static constexpr uint32_t kMost = 8192;  ///< capacity; later entries are dropped

  std::atomic<uint64_t> kernel_calls{0};  ///< calls of run(), including captured ones
  std::atomic<uint64_t> kernels{0};       ///< kernels executed, including those of launches
  std::atomic<uint64_t> copies_in{0};
  std::atomic<uint64_t> copies_out{0};
  std::atomic<uint64_t> copies_between{0};  ///< from one device to another
  std::atomic<uint64_t> captures{0};        ///< captures recorded
  std::atomic<uint64_t> captures_alive{0};
  std::atomic<uint64_t> launches{0};
  std::atomic<uint64_t> streams{0};  ///< streams that exist
  std::atomic<uint64_t> blocks{0};   ///< blocks of device memory that exist
  std::atomic<uint64_t> bytes{0};    ///< in those blocks
  std::atomic<uint32_t> entry_count{0};
  bool is_kept = false;  ///< record entries, not only counters
  std::array<Entry, kMost> entries;

  void write(uint32_t device, uint32_t stream, Kind kind, bool is_end, const char* name) {
    if (!is_kept) return;
    const uint32_t index = entry_count++;
    if (index >= kMost) return;
    Entry& entry = entries[index];
    entry.device = device;
    entry.stream = stream;
    entry.kind = kind;
    entry.is_end = is_end;
    entry.name = {};
    std::memcpy(entry.name.data(), name, std::min(std::strlen(name), entry.name.size() - 1));
  }
};

}  // namespace gantry::sim

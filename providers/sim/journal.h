// SPDX-License-Identifier: Apache-2.0
// What the simulated devices did, for tests: counters, and begin and end of every piece of work in
// one order over all streams and devices. A test gets it from the slot native_handle, kind
// "sim.journal", with any device; it is one for the provider. Counters: any thread, any time;
// entries are read while no work is queued.
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
    std::array<char, 54> name = {};  ///< of a kernel: `Relu "r1"`, cut to what fits
  };
  static constexpr uint32_t kMost = 8192;  ///< entries; later ones are dropped

  std::atomic<uint64_t> kernel_calls{0};  ///< of a kernel's run, also those that were recorded
  std::atomic<uint64_t> kernels{0};       ///< executed, those of a launch too
  std::atomic<uint64_t> copies_in{0};
  std::atomic<uint64_t> copies_out{0};
  std::atomic<uint64_t> copies_between{0};  ///< from one device to another
  std::atomic<uint64_t> captures{0};        ///< recorded
  std::atomic<uint64_t> captures_alive{0};
  std::atomic<uint64_t> launches{0};
  std::atomic<uint64_t> streams{0};  ///< that exist
  std::atomic<uint64_t> blocks{0};   ///< of device memory that exist
  std::atomic<uint64_t> bytes{0};    ///< in those blocks
  std::atomic<uint32_t> entry_count{0};
  bool is_kept = false;  ///< entries too, not only counters
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

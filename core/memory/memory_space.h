// SPDX-License-Identifier: Apache-2.0
// A memory space of a session, host or device: allocates its memory, counts it against the
// session's limit, and turns errors of its device into exceptions. Host memory may be shared with a
// worker process. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/assert.h"
#include "base/fork.h"
#include "base/mutex.h"
#include "plugin/device_health.h"
#include "plugin/error.h"
#include "plugin/isolation/shared_arena.h"

struct gantry_device;
struct gantry_error;
struct gantry_peer_copies;
struct gantry_provider_api;
struct gantry_shared_memory;

namespace gantry {

/// Memory that a session holds in all its spaces, limited by session.memory_limit_bytes: arenas,
/// pools, and constants in memory of their own. Not counted: mapped weights, packed weights that
/// providers share between sessions, and output tensors, for which require_room() checks the limit
/// while a run makes them.
class MemoryBudget {
 public:
  static constexpr uint64_t kNoLimit = UINT64_MAX;
  explicit MemoryBudget(uint64_t limit_bytes = kNoLimit) : limit_(limit_bytes) {}
  /// Counts memory; false: the limit would be exceeded, and nothing is counted.
  [[nodiscard]] bool take(uint64_t size_bytes) noexcept;
  void give(uint64_t size_bytes) noexcept {
    [[maybe_unused]] const uint64_t before = used_.fetch_sub(size_bytes);
    GANTRY_ASSERT(before >= size_bytes, "no more is given back than was taken");
  }
  [[nodiscard]] uint64_t used() const noexcept { return used_; }
  [[nodiscard]] uint64_t limit() const noexcept { return limit_; }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

/// A handle: copies refer to the same space.
class MemorySpace {
 public:
  /// Host memory, without a limit.
  MemorySpace() : MemorySpace("host memory", nullptr, nullptr, nullptr, nullptr) {}
  /// `api`, `device`, `health`: null for host memory. `budget`: null for no
  /// limit.
  MemorySpace(std::string name, const gantry_provider_api* api, gantry_device* device,
              std::shared_ptr<DeviceHealth> health, std::shared_ptr<MemoryBudget> budget);

  /// Host memory in `arena`, which the worker process of its provider reads in place.
  MemorySpace(std::string name, std::shared_ptr<SharedArena> arena,
              std::shared_ptr<MemoryBudget> budget);

  /// Allocates memory. If there is none or the session's limit forbids it, calls `give_back` and
  /// tries once more. OUT_OF_MEMORY, with the space, the size, the session's use and its limit.
  [[nodiscard]] void* allocate(uint64_t size_bytes,
                               const std::function<void()>& give_back = nullptr) const;
  /// `size_bytes`: as in allocate(). Memory of a hung device is not freed.
  void free(void* memory, uint64_t size_bytes) const noexcept;
  /// Counts memory that was allocated elsewhere against the session's limit. OUT_OF_MEMORY: the
  /// limit would be exceeded.
  void count(uint64_t size_bytes) const;
  /// OUT_OF_MEMORY if the limit leaves no room for `size_bytes` more. Counts nothing: for output
  /// tensors, which belong to the caller.
  void require_room(uint64_t size_bytes) const;

  /// Throws `error`, returned by a slot of this device, unless it is null. DEVICE_LOST blocks the
  /// device. `context`, a text or a function that returns one, is put in front of the message if
  /// the message does not begin with it.
  template <class Context>
  void check(gantry_error* error, Context&& context) const {
    if (!error) [[likely]]
      return;
    if constexpr (requires { std::string(context()); }) {
      raise(error, std::string(context()));
    } else {
      raise(error, std::string(context));
    }
  }
  /// DEVICE_LOST if the device is blocked, with the reason.
  void require_good() const;

  [[nodiscard]] const std::string& name() const { return state_->name; }
  [[nodiscard]] bool is_hung() const { return state_->health && state_->health->is_hung(); }
  /// True in a forked child of the process that made it, if it is no heap memory.
  [[nodiscard]] bool is_elsewhere() const {
    return (api || state_->arena) && state_->process.is_elsewhere();
  }
  [[nodiscard]] DeviceHealth* health() const { return state_->health.get(); }
  [[nodiscard]] uint64_t used() const { return state_->used; }
  /// Null: not shared with a worker process.
  [[nodiscard]] const std::shared_ptr<SharedArena>& shared() const { return state_->arena; }

  const gantry_provider_api* api = nullptr;  ///< null: host memory
  gantry_device* device = nullptr;
  /// Direct copies from another device of the same provider; null: none.
  const gantry_peer_copies* peer_copies = nullptr;
  /// Sharing of the memory with other libraries (DLPack); null: not supported.
  const gantry_shared_memory* shared_memory = nullptr;

 private:
  struct State {
    std::string name;
    ProcessBound process;
    std::shared_ptr<DeviceHealth> health;
    std::shared_ptr<MemoryBudget> budget;
    std::atomic<uint64_t> used{0};
    std::shared_ptr<SharedArena> arena;
    Mutex mutex;
    std::unordered_map<void*, SharedArena::Block> blocks
        GANTRY_GUARDED_BY(mutex);  // of the arena, by address
  };
  [[noreturn]] void raise(gantry_error* error, const std::string& context) const;
  [[nodiscard]] void* allocate_shared(uint64_t size_bytes) const;
  [[nodiscard]] void* try_allocate(uint64_t size_bytes, std::string& failure) const;
  [[noreturn]] void fail_limit(uint64_t size_bytes) const;
  [[nodiscard]] std::string describe_use() const;

  std::shared_ptr<State> state_;
};

}  // namespace gantry

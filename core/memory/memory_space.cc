// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_space.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/value.h"
#include "plugin/provider.h"

namespace gantry {

bool MemoryBudget::take(uint64_t size_bytes) noexcept {
  uint64_t used = used_;
  do {
    if (size_bytes > limit_ - std::min(used, limit_)) return false;
  } while (!used_.compare_exchange_weak(used, used + size_bytes));
  return true;
}

MemorySpace::MemorySpace(std::string name, const gantry_provider_api* table, gantry_device* opened,
                         std::shared_ptr<DeviceHealth> health, std::shared_ptr<MemoryBudget> budget)
    : api(table), device(opened), state_(std::make_shared<State>()) {
  state_->name = std::move(name);
  state_->health = std::move(health);
  state_->budget = budget ? std::move(budget) : std::make_shared<MemoryBudget>();
}

MemorySpace::MemorySpace(std::string name, std::shared_ptr<SharedArena> arena,
                         std::shared_ptr<MemoryBudget> budget)
    : MemorySpace(std::move(name), nullptr, nullptr, nullptr, std::move(budget)) {
  state_->arena = std::move(arena);
}

void* MemorySpace::allocate_shared(uint64_t size_bytes) const {
  SharedArena::Block block = state_->arena->allocate(size_bytes);
  void* memory = block.data();
  const MutexLock lock(state_->mutex);
  state_->blocks.emplace(memory, std::move(block));
  return memory;
}

void* MemorySpace::allocate(uint64_t size_bytes, const std::function<void()>& give_back) const {
  std::string failure;
  if (void* memory = try_allocate(size_bytes, failure)) return memory;
  if (give_back) {
    give_back();
    if (void* memory = try_allocate(size_bytes, failure)) return memory;
  }
  throw Error(Code::kOutOfMemory,
              name() + ": no memory for " + std::to_string(size_bytes) + " bytes: " + failure);
}

// Null, with the reason in `failure`, if there is no memory; throws other errors.
void* MemorySpace::try_allocate(uint64_t size_bytes, std::string& failure) const {
  require_good();
  if (!state_->budget->take(size_bytes)) {
    failure = "the session holds " + describe_use() + ", and session.memory_limit_bytes allows " +
              std::to_string(state_->budget->limit());
    return nullptr;
  }
  void* memory = nullptr;
  try {
    if (api) {
      check(api->memory_allocate(device, size_bytes, &memory), name());
    } else if (state_->arena) {
      memory = allocate_shared(size_bytes);
    } else {
      memory = allocate_host_block(size_bytes);
    }
  } catch (const Error& error) {
    state_->budget->give(size_bytes);
    if (error.code() != Code::kOutOfMemory) throw;
    failure = error.message() + "; the session holds " + describe_use();
    return nullptr;
  }
  state_->used += size_bytes;
  return memory;
}

void MemorySpace::free(void* memory, uint64_t size_bytes) const noexcept {
  if (!memory) return;
  if (is_hung() || is_elsewhere()) return;  // the device and the arena are the parent's
  if (is_forked()) {
    std::free(memory);
    return;
  }
  if (api) {
    api->memory_free(device, memory);
  } else if (state_->arena) {
    const MutexLock lock(state_->mutex);
    state_->blocks.erase(memory);
  } else {
    std::free(memory);
  }
  state_->used -= size_bytes;
  state_->budget->give(size_bytes);
}

void MemorySpace::count(uint64_t size_bytes) const {
  if (!state_->budget->take(size_bytes)) fail_limit(size_bytes);
  state_->used += size_bytes;
}

void MemorySpace::require_room(uint64_t size_bytes) const {
  const MemoryBudget& budget = *state_->budget;
  if (size_bytes > budget.limit() - std::min(budget.used(), budget.limit())) fail_limit(size_bytes);
}

void MemorySpace::fail_limit(uint64_t size_bytes) const {
  throw Error(Code::kOutOfMemory, name() + ": no memory for " + std::to_string(size_bytes) +
                                      " bytes: the session holds " + describe_use() +
                                      ", and session.memory_limit_bytes allows " +
                                      std::to_string(state_->budget->limit()));
}

std::string MemorySpace::describe_use() const {
  return std::to_string(state_->budget->used()) + " bytes, " + std::to_string(used()) +
         " of them here";
}

void MemorySpace::raise(gantry_error* error, const std::string& context) const {
  const std::string message(message_of(error));
  if (code_of(error) == Code::kDeviceLost && state_->health)
    state_->health->block(DeviceHealth::State::kLost, message);
  throw_error(error, message.starts_with(context) ? std::string() : context);
}

void MemorySpace::require_good() const {
  if (!state_->health || state_->health->is_good()) return;
  throw Error(Code::kDeviceLost, "device " + name() + " is blocked: " + state_->health->reason());
}

}  // namespace gantry

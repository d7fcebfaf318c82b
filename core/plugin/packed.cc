// SPDX-License-Identifier: Apache-2.0
#include "plugin/packed.h"

#include <gantry/error.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/fork.h"
#include "base/mutex.h"
#include "base/process_state.h"
#include "plugin/packed_memory.h"

namespace gantry {
namespace {

using Key = PackedKey;

thread_local PackedLedger* ledger = nullptr;

struct PackedEntry {
  std::shared_ptr<const void> memory;
  uint64_t size_bytes = 0;
  uint64_t users = 0;
  bool filled = false;
  bool failed = false;  // `fill` threw: the entry has been removed from the table
};

struct Packed {
  static constexpr ProcessState kState = ProcessState::kPackedWeights;

  Mutex mutex;
  CondVar filled;
  std::map<Key, std::shared_ptr<PackedEntry>> entries GANTRY_GUARDED_BY(mutex);
  std::map<const void*, Key> keys GANTRY_GUARDED_BY(mutex);
  std::atomic<uint64_t> bytes{0};
};

Packed& packed() { return process_state<Packed>(); }

// Adds one user to the entry of a key.
std::shared_ptr<PackedEntry> find_or_add(Packed& all, const Key& key, uint64_t size_bytes,
                                         bool& is_new) GANTRY_REQUIRES(all.mutex) {
  std::shared_ptr<PackedEntry>& entry = all.entries[key];
  is_new = entry == nullptr;
  if (is_new) {
    try {
      auto made = std::make_shared<PackedEntry>();
      if (ledger) made->memory = ledger->find(key, size_bytes);
      made->filled = made->memory != nullptr;
      if (!made->filled) made->memory = allocate_packed(size_bytes);
      made->size_bytes = size_bytes;
      all.keys.emplace(made->memory.get(), key);
      entry = std::move(made);
    } catch (...) {
      all.entries.erase(key);
      throw;
    }
    all.bytes += size_bytes;
  } else if (entry->size_bytes != size_bytes) {
    throw Error(Code::kInvalidArgument,
                "packed data: a key is held with " + std::to_string(entry->size_bytes) +
                    " bytes and was asked for with " + std::to_string(size_bytes) +
                    "; a key must determine the size");
  }
  ++entry->users;
  return entry;
}

// Removes an entry whose `fill` failed; the next caller, or one that waits for it, makes another.
void drop(Packed& all, const Key& key, PackedEntry& entry) GANTRY_REQUIRES(all.mutex) {
  entry.failed = true;
  all.bytes -= entry.size_bytes;
  all.keys.erase(entry.memory.get());
  all.entries.erase(key);
  all.filled.notify_all();
}

void note(const Key& key, const PackedEntry& entry) {
  try {
    ledger->note({key, entry.memory, entry.size_bytes});
  } catch (...) {
    release_packed(entry.memory.get());
    throw;
  }
}

}  // namespace

const void* acquire_packed(const uint8_t key[32], uint64_t size_bytes,
                           void (*fill)(void* arg, void* target), void* arg) {
  const Activity activity;
  Packed& all = packed();
  Key wanted;
  std::copy(key, key + wanted.size(), wanted.begin());
  std::shared_ptr<PackedEntry> entry;
  do {
    const MutexLock lock(all.mutex);
    bool is_new = false;
    entry = find_or_add(all, wanted, size_bytes, is_new);
    if (is_new && !entry->filled) {
      try {
        const MutexUnlock unlock(all.mutex);  // filling takes long; other keys need not wait for it
        fill(arg, const_cast<void*>(entry->memory.get()));  // not shared before it is filled
      } catch (...) {
        drop(all, wanted, *entry);
        throw;
      }
      entry->filled = true;
      all.filled.notify_all();
    } else {
      while (!entry->filled && !entry->failed) all.filled.wait(all.mutex);
    }
  } while (entry->failed);
  if (ledger) note(wanted, *entry);
  return entry->memory.get();
}

void release_packed(const void* data) noexcept {
  if (!data) return;
  Packed& all = packed();
  std::shared_ptr<PackedEntry>
      last;  // before the lock, so that the memory is freed after it is released
  const MutexLock lock(all.mutex);
  const auto key = all.keys.find(data);
  if (key == all.keys.end()) return;
  const auto found = all.entries.find(key->second);
  if (--found->second->users > 0) return;
  last = std::move(found->second);
  all.bytes -= last->size_bytes;
  all.entries.erase(found);
  all.keys.erase(key);
}

PackedScope::PackedScope(PackedLedger* inner) noexcept : outer_(std::exchange(ledger, inner)) {}

PackedScope::~PackedScope() { ledger = outer_; }

uint64_t packed_bytes() noexcept { return packed().bytes; }

}  // namespace gantry

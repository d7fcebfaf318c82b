// SPDX-License-Identifier: Apache-2.0
// Immutable data that providers make once per process for each key and share (packed weights). Any
// thread: the first caller of a key fills the data, other callers of the key wait.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace gantry {

using PackedKey = std::array<uint8_t, 32>;

/// Packed data with shared ownership of their memory.
struct PackedBlock {
  PackedKey key = {};
  std::shared_ptr<const void> memory;
  uint64_t size_bytes = 0;
};

/// A cache of packed data for a compilation: has data packed earlier, possibly by another process,
/// and receives the data that the compilation packs. Any thread.
class PackedLedger {
 public:
  virtual ~PackedLedger() = default;
  /// The data for a key; null: not cached, or of another size.
  virtual std::shared_ptr<const void> find(const PackedKey& key, uint64_t size_bytes) = 0;
  /// Called for all data acquired, cached or new.
  virtual void note(const PackedBlock& block) = 0;
};

/// During its life, acquire_packed() on this thread looks for data in a ledger before it makes
/// them, and notes them there. Scopes of one thread may be nested; the innermost counts.
class PackedScope {
 public:
  /// Null: no ledger.
  explicit PackedScope(PackedLedger* ledger) noexcept;
  ~PackedScope();
  PackedScope(const PackedScope&) = delete;
  PackedScope& operator=(const PackedScope&) = delete;

 private:
  PackedLedger* outer_;
};

/// The data for `key`; `fill` makes them if nobody holds them. Each call needs one release_packed.
/// If `fill` throws, the exception is passed on, and a thread that waits for the key fills it.
/// INVALID_ARGUMENT: the key is held with another size. OUT_OF_MEMORY.
const void* acquire_packed(const uint8_t key[32], uint64_t size_bytes,
                           void (*fill)(void* arg, void* target), void* arg);
/// Releases the data, which are freed with their last user; null and unknown pointers have no
/// effect.
void release_packed(const void* data) noexcept;
/// Size of all data held now.
uint64_t packed_bytes() noexcept;

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// Immutable data that providers make once per process for each key and share (packed weights). Any
// thread: the first caller of a key fills, others of that key wait.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace gantry {

using PackedKey = std::array<uint8_t, 32>;

/// Packed data with a share of their memory.
struct PackedBlock {
  PackedKey key = {};
  std::shared_ptr<const void> memory;
  uint64_t size_bytes = 0;
};

/// Where a compilation finds what was packed before, by another process perhaps, and leaves what it
/// packs. Any thread.
class PackedLedger {
 public:
  virtual ~PackedLedger() = default;
  /// The data for a key; null: not here, or of another size.
  virtual std::shared_ptr<const void> find(const PackedKey& key, uint64_t size_bytes) = 0;
  /// Data that were acquired, wherever they come from.
  virtual void note(const PackedBlock& block) = 0;
};

/// While it lives, what this thread acquires is looked for in a ledger before it is made, and noted
/// there. Scopes of one thread may be nested; the innermost counts.
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

/// The data for `key`, made by `fill` if nobody holds it. Each call is matched by one
/// release_packed. What `fill` throws is thrown on; others that wait for the key fill it then.
/// INVALID_ARGUMENT: the key is held with another size. OUT_OF_MEMORY.
const void* acquire_packed(const uint8_t key[32], uint64_t size_bytes,
                           void (*fill)(void* arg, void* target), void* arg);
/// Frees the data with its last user; null and unknown pointers have no effect.
void release_packed(const void* data) noexcept;
/// Bytes held now.
uint64_t packed_bytes() noexcept;

}  // namespace gantry

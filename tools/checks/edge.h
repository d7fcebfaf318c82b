// SPDX-License-Identifier: Apache-2.0
// Structs of other ABI versions: shorter ones, with inaccessible memory behind them, and longer
// ones, with bytes behind them that have no meaning. One thread.
#pragma once

#include <gantry/provider.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace gantry::checks {

/// Where a member ends.
#define GANTRY_END_OF(type, member) (offsetof(type, member) + sizeof(type::member))

/// A struct of `size_bytes` bytes whose end is the end of readable memory.
class Edge {
 public:
  /// Copies the first bytes of `whole`, which begins with its own size, and sets that; bytes beyond
  /// the whole struct are 0xA5. `size_bytes`: at most 4096, a multiple of 8. Out of memory throws
  /// std::bad_alloc.
  template <class T>
  Edge(const T& whole, size_t size_bytes) : Edge(&whole, sizeof(whole), size_bytes) {}
  ~Edge();
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;

  template <class T>
  [[nodiscard]] T* get() const {
    return reinterpret_cast<T*>(start_);
  }

 private:
  Edge(const void* whole, size_t whole_bytes, size_t size_bytes);
  void* pages_ = nullptr;
  std::byte* start_ = nullptr;
};

}  // namespace gantry::checks

// SPDX-License-Identifier: Apache-2.0
// Structs as of other ABI versions: shorter ones, followed by inaccessible memory, and longer ones,
// with meaningless bytes at the end. One thread.
#pragma once

#include <gantry/provider.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace gantry::checks {

/// Offset of the end of a member.
#define GANTRY_END_OF(type, member) (offsetof(type, member) + sizeof(type::member))

/// A struct of `size_bytes` bytes that ends where readable memory ends.
class Edge {
 public:
  /// Copies the first `size_bytes` bytes of `whole` and sets its first member, the struct size.
  /// Bytes beyond `whole` are 0xA5. Requires a `size_bytes` of at most 4096 that is a multiple of
  /// 8. Throws std::bad_alloc.
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

// SPDX-License-Identifier: Apache-2.0
// Serializes a message between gantry and a worker process. Both are the same build on the same
// machine, so values are copied as they are in memory. A reader checks everything all the same, as
// a provider may have corrupted the worker's memory. One thread.
#pragma once

#include <gantry/error.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gantry {

class MessageWriter {
 public:
  template <class T>
  void put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(&value, sizeof(value));
  }
  void text(std::string_view value) {
    put<uint64_t>(value.size());
    append(value.data(), value.size());
  }
  template <class T>
  void list(const T* items, size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    put<uint64_t>(count);
    append(items, count * sizeof(T));
  }
  template <class T>
  void list(const std::vector<T>& items) {
    list(items.data(), items.size());
  }
  void append(const void* data, size_t size_bytes) {
    if (size_bytes == 0) return;
    const size_t before = bytes_.size();
    bytes_.resize(before + size_bytes);
    std::memcpy(bytes_.data() + before, data, size_bytes);
  }
  void clear() { bytes_.clear(); }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads what a MessageWriter wrote. INTERNAL: the message is truncated.
class MessageReader {
 public:
  explicit MessageReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string text() {
    const std::span<const std::byte> bytes = take(get<uint64_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  template <class T>
  std::vector<T> list() {
    const uint64_t count = this->count(sizeof(T));
    std::vector<T> items(count);
    const std::span<const std::byte> bytes = take(count * sizeof(T));
    if (count > 0) std::memcpy(items.data(), bytes.data(), bytes.size());
    return items;
  }
  /// Reads a count of items of at least `item_bytes` each, and checks that the message has as many.
  uint64_t count(size_t item_bytes) {
    const auto count = get<uint64_t>();
    if (count > left_.size() / item_bytes) {
      fail("expected " + std::to_string(count) + " items of at least " +
           std::to_string(item_bytes) + " bytes");
    }
    return count;
  }
  std::span<const std::byte> take(uint64_t size_bytes) {
    if (size_bytes > left_.size()) fail("expected " + std::to_string(size_bytes) + " more bytes");
    const std::span<const std::byte> bytes = left_.first(size_bytes);
    left_ = left_.subspan(size_bytes);
    return bytes;
  }
  [[nodiscard]] bool is_at_end() const { return left_.empty(); }
  [[nodiscard]] size_t left_bytes() const { return left_.size(); }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw Error(Code::kInternal, "a message between gantry and a worker process is cut short: " +
                                     expected + ", found " + std::to_string(left_.size()));
  }

  std::span<const std::byte> left_;
};

}  // namespace gantry

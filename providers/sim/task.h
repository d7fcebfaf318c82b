// SPDX-License-Identifier: Apache-2.0
// One piece of work on a stream: a function with its arguments by value, in a room of fixed size,
// so that queueing and recording allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "journal.h"
#include "memory.h"

namespace gantry::sim {

class Task {
 public:
  Task() = default;
  /// `work(memory)` runs late, on the stream's thread; `name` lives as long as the task. A mark is
  /// queued without latency and runs also behind failed work.
  template <class Work>
  Task(Journal::Kind kind, const char* op_type, const char* name, const Work& work, bool is_mark)
      : invoke_([](const std::byte* room, const Memory& memory) {
          (*reinterpret_cast<const Work*>(room))(memory);
        }),
        op_type_(op_type),
        name_(name),
        kind_(kind),
        is_mark_(is_mark) {
    static_assert(std::is_trivially_copyable_v<Work> && sizeof(Work) <= kRoomBytes);
    std::memcpy(room_, &work, sizeof(Work));
  }

  void run(const Memory& memory) const { invoke_(room_, memory); }
  [[nodiscard]] const char* op_type() const { return op_type_; }
  [[nodiscard]] const char* name() const { return name_; }
  [[nodiscard]] Journal::Kind kind() const { return kind_; }
  [[nodiscard]] bool is_mark() const { return is_mark_; }

 private:
  static constexpr size_t kRoomBytes = 384;

  void (*invoke_)(const std::byte* room, const Memory& memory) = nullptr;
  const char* op_type_ = "";
  const char* name_ = "";
  Journal::Kind kind_ = Journal::Kind::kKernel;
  bool is_mark_ = false;
  alignas(std::max_align_t) std::byte room_[kRoomBytes] = {};
};

}  // namespace gantry::sim

// SPDX-License-Identifier: Apache-2.0
// One task of a stream: a function object stored in a fixed-size buffer, so that enqueueing and
// recording allocate nothing.
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
  /// `work(memory)` runs later, on the stream's thread. It must be trivially copyable and at most
  /// 384 bytes. `op_type` and `name` must live as long as the task. A mark (event record or wait)
  /// runs without latency, and also after failed work.
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

// SPDX-License-Identifier: Apache-2.0
// What a frame is made of: slots, calls prepared for its kernels, notes of what they ask for, and
// what control flow keeps between runs. Used by the thread of the run, but for what says otherwise.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/value.h"
#include "memory/memory_plan.h"
#include "memory/memory_pool.h"

namespace gantry {

/// The value in a slot during a run.
struct Slot {
  /// a dense tensor; its data belong to `block`, the arena, or somebody outside
  gantry_value value;
  /// set: the value is this one instead (strings, sequences, values that arrive from outside)
  ValueRef ref;
  Block* block = nullptr;  ///< memory outside the plan that this slot uses
  gantry_event* event = nullptr;
  bool is_planned = false;  ///< `value` is what the plan says; asking for just that is free
  bool is_set = false;
  bool is_resident = false;   ///< of an input: `value` is in the memory of the device that it is
                              ///< copied to
  bool shows_output = false;  ///< `value` has the memory of a tensor that leaves the session
  std::array<int64_t, 8> strides = {};  ///< in elements, of a slot in another format than the dense
  /// Where calls point to this slot; patched when it changes between `value` and `ref`.
  std::vector<std::pair<const gantry_tensor**, const gantry_value**>> uses;

  [[nodiscard]] const gantry_value& get() const { return ref ? *ref : value; }
};

/// A kernel call, prepared once per context.
struct StepCall {
  gantry_call call = {};
  std::vector<const gantry_tensor*> inputs;
  std::vector<const gantry_value*> values;
  void* kernel_context = nullptr;
  uint32_t step = 0;
  uint32_t scratch_next = 0;    ///< how often scratch was asked for in this run
  std::vector<Block*> scratch;  ///< blocks beside the plan, until the step ends
  /// When there is a trace; read and set to 0 by any thread.
  std::atomic<uint64_t> total_ns = 0;
  std::atomic<uint64_t> runs = 0;
};

/// Notes what a run asks for; see memory_plan.h.
struct Recorder {
  std::vector<MemoryRecord> records;
  std::vector<PlannedSlot> slots;
  std::vector<std::vector<PlannedScratch>> scratch;
};

/// What a Loop or Scan carries from one iteration to the next; kept so that later runs find their
/// buffers.
struct ControlState {
  std::vector<Slot> carried;
  std::vector<Slot> next;
  /// Loop: scan outputs so far, [capacity, ...]; Scan: slices of the inputs
  std::vector<Slot> collected;
  std::vector<int64_t> counts;  ///< Loop: elements of `collected` in use, on its first axis
  gantry_value iteration;
  gantry_value condition;
  int64_t iteration_data = 0;
  uint8_t condition_data = 0;
};

/// Lets go of what a slot that belongs to no frame holds.
void clear_slot(Slot& slot) noexcept;

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// The parts of a frame: slots, calls prepared for its kernels, the recorder of a memory plan, and
// the state of control flow. Used by the thread of the run unless a member says otherwise.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "base/value.h"
#include "memory/memory_plan.h"
#include "memory/memory_pool.h"

namespace gantry {

/// The value in a slot during a run.
struct Slot {
  /// a dense tensor; its data are in `block`, in the arena, or outside the frame
  gantry_value value;
  /// set: the value is this one instead (strings, sequences, values that arrive from outside)
  ValueRef ref;
  Block* block = nullptr;  ///< memory outside the plan that this slot uses
  gantry_event* event = nullptr;
  bool is_planned = false;  ///< `value` is the plan's tensor; an equal request returns it
  bool is_set = false;
  bool is_resident = false;   ///< of an input: `value` is already in the memory of the device to
                              ///< which it would be copied
  bool shows_output = false;  ///< `value` has the memory of a tensor that leaves the session
  std::array<int64_t, 8> strides = {};  ///< in elements, of a slot with a format
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
  uint32_t scratch_next = 0;    ///< number of scratch requests in this run
  std::vector<Block*> scratch;  ///< scratch blocks outside the plan, until the step ends
  /// What a body of parallel_for threw, against the rules of the boundary; the step fails by it.
  std::exception_ptr thrown;
  /// Counted if there is a trace; read and reset by any thread.
  std::atomic<uint64_t> total_ns = 0;
  std::atomic<uint64_t> runs = 0;
};

/// The memory requests of a run; see memory_plan.h.
struct Recorder {
  std::vector<MemoryRecord> records;
  std::vector<PlannedSlot> slots;
  std::vector<std::vector<PlannedScratch>> scratch;
};

/// State of a Loop or Scan between iterations. It lives as long as the frame, so that later runs
/// reuse its buffers.
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

/// Releases the value of a slot that belongs to no frame.
void clear_slot(Slot& slot) noexcept;

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// The resources that the frames of one run share: memory, streams, threads, the trace, the run's
// limits, and the caller's output tensors. Used by one run at a time; the next run reuses memory
// and streams.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/run_limits.h"
#include "base/thread_pool.h"
#include "base/trace.h"
#include "base/value.h"
#include "gantry/session.h"
#include "memory/arena.h"
#include "memory/device_table.h"
#include "memory/memory_plan.h"
#include "memory/memory_pool.h"
#include "plugin/crash_marks.h"
#include "program/step.h"
#include "run/stream_clock.h"

namespace gantry {

/// Makes the memory of an output of the graph.
using MakeOutput = std::function<ValueRef(DType, std::span<const int64_t>)>;

/// The error of a run that was cancelled or is past its deadline.
Error stop_error(Code code);

class RunResources {
 public:
  /// `outputs`: number of outputs of the program. `threads`: number of threads that the run may
  /// use. `devices` must outlive the resources. Errors: of creating streams.
  RunResources(size_t outputs, const DeviceTable& devices, uint32_t threads);
  /// Requires the devices to be idle; see quiesce().
  ~RunResources();
  RunResources(const RunResources&) = delete;
  RunResources& operator=(const RunResources&) = delete;

  /// `memory`: a space, or the result of memory_of().
  [[nodiscard]] MemoryPool& pool(uint32_t memory) { return *pools_[memory]; }
  [[nodiscard]] Arena& arena(uint32_t memory) { return *arenas_[memory]; }
  /// Index of the pool and the arena of a slot's memory. Those of the shared-memory regions
  /// follow those of the spaces.
  [[nodiscard]] uint32_t memory_of(const SlotInfo& slot) const {
    return slot.shared_region == 0 ? slot.space : space_count() + slot.shared_region - 1;
  }
  [[nodiscard]] uint32_t memory_count() const { return static_cast<uint32_t>(pools_.size()); }
  [[nodiscard]] const MemorySpace& shared_region(uint32_t number) const {
    return devices_.shared_region(number);
  }
  [[nodiscard]] const MemorySpace& space(uint32_t space) const { return devices_.space(space); }
  [[nodiscard]] gantry_stream* stream(uint32_t space) const { return streams_[space]; }
  [[nodiscard]] uint32_t space_count() const { return devices_.space_count(); }
  [[nodiscard]] ThreadTeam& team() { return team_; }
  /// Frees the unused blocks of the pools: planned runs use the arenas. Requires that no device
  /// still uses them.
  void trim();
  /// Frees memory during a run: waits for the devices, then frees unused blocks here and calls
  /// give_back_others. Errors: of the devices' work.
  void give_back();
  /// Frees all memory. Between runs only; requires that no frame is bound to a plan.
  void drop_memory();
  /// Waits until the device of `space` has completed the work before the event. Errors: of that
  /// work, with `label` in front; CANCELLED and DEADLINE_EXCEEDED if the provider has event_query.
  void wait(uint32_t space, gantry_event* event, const std::string& label);
  /// Waits for all devices. Errors: the first of their work, as wait().
  void synchronize();
  /// After a failed run: waits until the devices are idle and returns the first error of their
  /// work. A device that is still busy `grace_ms` after the run was stopped is marked as hung, and
  /// is_abandoned() becomes true.
  std::optional<Error> quiesce() noexcept;
  /// True if a hung device may still use this memory, which must never be freed.
  [[nodiscard]] bool is_abandoned() const { return is_abandoned_; }
  [[nodiscard]] MemoryUse memory() const;

  /// From now on takes the time of every step, and records events if `trace` keeps records.
  /// `number`: index of the execution context in its session. The trace must outlive the resources.
  void attach(Trace& trace, size_t number);
  [[nodiscard]] Trace* trace() const { return trace_; }
  /// Traces device work: marks the stream of the step's device; the step was issued at `issued_ns`.
  /// `replayed`: number of steps, from `step` on, that were launched as one capture; 0: the step
  /// was run by itself.
  void note_on_stream(const Step& step, uint64_t issued_ns, uint32_t replayed = 0);
  /// Traces the sizes of arenas and pools that changed.
  void note_memory() noexcept;

  /// kOk, or the code with which the run must stop.
  [[nodiscard]] Code stop_code() const noexcept { return limits.stop_code(); }

  RunLimits limits;
  uint64_t grace_ms = 2000;
  GiveBack give_back_others;  ///< frees memory of other users of the budget; see give_back()
  std::atomic<uint64_t>* const own_mark = mark_cell();
  std::atomic<uint64_t>* mark = own_mark;      ///< receives Step::mark of the kernel that runs now
  std::vector<ValueRef> bound_outputs;         ///< by graph output; null: made by the run
  const MakeOutput* make_output = nullptr;     ///< of this run; null: make_tensor
  std::span<const uint8_t> on_device_outputs;  ///< of this run: `on_device` of Executor::run
  bool has_told_of_rank = false;    ///< the warning about a wrong declared rank was logged
  uint64_t made_output_bytes = 0;   ///< size of the outputs made for the caller in this run
  bool has_made_on_device = false;  ///< this run made a tensor for an output of `on_device`
  /// True if that output stays on its device.
  [[nodiscard]] bool is_on_device(uint32_t output) const {
    return output < on_device_outputs.size() && on_device_outputs[output] != 0;
  }
  std::shared_ptr<const DeviceTable> shared_devices;  ///< for tensors that outlive the run

 private:
  gantry_event* mark_end(uint32_t space);
  bool wait_until_idle(uint32_t space);

  const DeviceTable& devices_;
  std::vector<std::unique_ptr<Arena>>
      arenas_;  // of spaces, then of shared-memory regions; so are pools_
  std::vector<std::unique_ptr<MemoryPool>> pools_;  // which borrow of the arenas
  std::vector<gantry_stream*> streams_;
  std::vector<gantry_event*> ends_;  // by space, made on first use
  bool is_abandoned_ = false;
  ThreadTeam team_;
  Trace* trace_ = nullptr;
  std::vector<std::unique_ptr<StreamClock>> clocks_;  // by space, if there are records
  std::vector<uint32_t> memory_tracks_;               // likewise
  std::vector<std::array<int64_t, 2>> noted_memory_;  // likewise
};

}  // namespace gantry

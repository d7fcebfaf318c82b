// SPDX-License-Identifier: Apache-2.0
// What the frames of one run share: memory, streams, threads, the trace, when the run is to stop,
// and the tensors that its caller gave for outputs. Knows nothing of frames. Serves one run at a
// time; memory and streams stay for the next.
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

/// What a run ends with that was cancelled or is out of time.
Error stop_error(Code code);

class RunResources {
 public:
  /// `outputs`: how many the program has. `threads`: that the run may use. `devices` must outlive
  /// the resources.
  RunResources(size_t outputs, const DeviceTable& devices, uint32_t threads);
  /// Requires the devices to be at rest: see quiesce().
  ~RunResources();
  RunResources(const RunResources&) = delete;
  RunResources& operator=(const RunResources&) = delete;

  /// By space, or by memory_of().
  [[nodiscard]] MemoryPool& pool(uint32_t memory) { return *pools_[memory]; }
  [[nodiscard]] Arena& arena(uint32_t memory) { return *arenas_[memory]; }
  /// Which of the pools and arenas a slot's memory comes from: that of its space, or of its area,
  /// which stand behind those of the spaces.
  [[nodiscard]] uint32_t memory_of(const SlotInfo& slot) const {
    return slot.area == 0 ? slot.space : space_count() + slot.area - 1;
  }
  [[nodiscard]] uint32_t memory_count() const { return static_cast<uint32_t>(pools_.size()); }
  [[nodiscard]] const MemorySpace& area(uint32_t number) const { return devices_.area(number); }
  [[nodiscard]] const MemorySpace& space(uint32_t space) const { return devices_.space(space); }
  [[nodiscard]] gantry_stream* stream(uint32_t space) const { return streams_[space]; }
  [[nodiscard]] uint32_t space_count() const { return devices_.space_count(); }
  [[nodiscard]] ThreadTeam& team() { return team_; }
  /// Gives the blocks of recorded runs back: a planned run has the arena. Not during a run.
  void trim();
  /// What can be given back while a run goes on: free blocks, once the devices
  /// are done with them. Errors: of the devices' work.
  void give_back();
  /// Between runs: gives everything back. Requires that no frame is bound to a plan.
  void drop_memory();
  /// Waits until the device of `space` has completed what the event was
  /// recorded for. Errors: what failed there, with `label` in front; CANCELLED
  /// and DEADLINE_EXCEEDED where the device can be asked (event_query).
  void wait(uint32_t space, gantry_event* event, const std::string& label);
  /// Waits for all devices; the first error of their work, as wait().
  void synchronize();
  /// After a failed run: waits until the devices are at rest; the first error
  /// of their work. One that is still at work when the run was stopped
  /// `grace_ms` ago is given up: is_abandoned().
  std::optional<Error> quiesce() noexcept;
  /// A device may use this memory for ever; it must be kept as it is.
  [[nodiscard]] bool is_abandoned() const { return is_abandoned_; }
  [[nodiscard]] MemoryUse memory() const;

  /// Times every step from now on, and records what happens if `trace` keeps records. `number`: of
  /// the execution context in its session. The trace must outlive the resources.
  void attach(Trace& trace, size_t number);
  [[nodiscard]] Trace* trace() const { return trace_; }
  /// For the trace: the stream of the step's device has work of it that began at `issued_ns`.
  /// `replayed`: steps that were launched as one, from `step` on; 0: it was run by itself.
  void note_on_stream(const Step& step, uint64_t issued_ns, uint32_t replayed = 0);
  /// For the trace: the sizes of arenas and pools, where they changed.
  void note_memory() noexcept;

  /// 0, or the code with which the run is to stop.
  [[nodiscard]] Code stop_code() const noexcept { return limits.stop_code(); }

  RunLimits limits;
  uint64_t grace_ms = 2000;
  GiveBack give_back_others;  ///< called when there is no more to give back here
  std::atomic<uint64_t>* const own_mark = mark_cell();
  std::atomic<uint64_t>* mark = own_mark;   ///< takes Step::mark of the kernel that runs now
  std::vector<ValueRef> bound_outputs;      ///< by graph output; null: made by the run
  const MakeOutput* make_output = nullptr;  ///< of a run; null: make_tensor
  std::span<const uint8_t> left_outputs;    ///< of a run: see Executor::run
  bool has_told_of_rank = false;            ///< a rank that the model says wrongly is news once
  uint64_t made_output_bytes = 0;           ///< of the outputs that the run has made for its caller
  bool has_made_left = false;               ///< one of `bound_outputs` was made by the run for it
  /// True if the run leaves that output on its device.
  [[nodiscard]] bool leaves(uint32_t output) const {
    return output < left_outputs.size() && left_outputs[output] != 0;
  }
  std::shared_ptr<const DeviceTable> shared_devices;  ///< for tensors that outlive the run

 private:
  gantry_event* mark_end(uint32_t space);
  bool comes_to_rest(uint32_t space);

  const DeviceTable& devices_;
  std::vector<std::unique_ptr<Arena>> arenas_;      // of spaces, then of areas; so are pools_
  std::vector<std::unique_ptr<MemoryPool>> pools_;  // which borrow of the arenas
  std::vector<gantry_stream*> streams_;
  std::vector<gantry_event*> ends_;  // by space, made when first wanted
  bool is_abandoned_ = false;
  ThreadTeam team_;
  Trace* trace_ = nullptr;
  std::vector<std::unique_ptr<StreamClock>> clocks_;  // by space, if there are records
  std::vector<uint32_t> memory_tracks_;               // likewise
  std::vector<std::array<int64_t, 2>> noted_memory_;  // likewise
};

}  // namespace gantry

// SPDX-License-Identifier: Apache-2.0
// The mutable side of a run: the slots of one program, the calls prepared for its kernels, and the
// context that owns memory, streams and kernel state. A context serves one run at a time; what it
// prepared stays for the next.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/trace.h"
#include "base/value.h"
#include "gantry/session.h"
#include "plugin/crash_marks.h"
#include "schedule/capture.h"
#include "schedule/memory_plan.h"
#include "schedule/memory_pool.h"
#include "schedule/program.h"
#include "schedule/stream_clock.h"
#include "schedule/thread_pool.h"

namespace gantry {

class ExecutionContext;
class Frame;
struct StepCall;

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
  std::array<int64_t, 8> strides = {};  ///< in elements, of a slot in another format than the dense
  /// Where calls point to this slot; patched when it changes between `value` and `ref`.
  std::vector<std::pair<const gantry_tensor**, const gantry_value**>> uses;

  [[nodiscard]] const gantry_value& get() const { return ref ? *ref : value; }
};

}  // namespace gantry

/// What the boundary's run services receive.
struct gantry_run {
  gantry::Frame* frame = nullptr;
  gantry::StepCall* call = nullptr;
};

namespace gantry {

/// A kernel call, prepared once per context.
struct StepCall {
  gantry_call call = {};
  gantry_run run = {};
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

/// A program in execution. The main frame belongs to the context, frames of bodies to their
/// parents.
class Frame {
 public:
  Frame(const Program& program, ExecutionContext& context);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  /// Issues every step. Requires inputs and captures to be set. On error the frame must be reset.
  void run();
  /// Drops every value; memory beside the plan goes back to the pools.
  void reset() noexcept;

  /// The slot shows the dense tensor `value`, whose memory outlives the run.
  void set_view(uint32_t slot, const gantry_value& value);
  /// The slot is `ref`, a value of any kind.
  void set_ref(uint32_t slot, ValueRef ref);
  /// The slot shows what another frame's slot holds, which outlives this frame's run.
  void set_from(uint32_t slot, const Slot& source);
  /// The slot takes over what a slot of a body's frame holds: its memory if that is its own, else a
  /// copy.
  void take_from(uint32_t slot, Slot& source);
  /// Of a body's frame: what a step makes in `slot` stands in a slot of the frame around it at
  /// once, if that one leaves the session. Until reset().
  void deliver(uint32_t slot, Frame& outer, uint32_t outer_slot);
  /// Puts an output of a body's frame into a slot of this one: what was delivered stands there.
  void take_output(uint32_t slot, Frame& body, uint32_t body_slot);
  /// Dense tensor for an output slot of a step: from the plan, over an input where that is granted,
  /// or new memory.
  gantry_tensor* request(StepCall& call, uint32_t index, DType dtype, uint32_t rank,
                         const int64_t* shape);
  /// The tensor in `slot` was an upper bound; it has `shape` now. INVALID_ARGUMENT: an extent is
  /// larger or below 0.
  void shrink(uint32_t slot, const int64_t* shape);
  void* request_scratch(StepCall& call, uint32_t space, uint64_t size_bytes);
  /// The caller's tensor for an output of a step; null: it gave none, or the value stays inside.
  [[nodiscard]] const gantry_tensor* bound_output(const StepCall& call, uint32_t index) const;
  void release(uint32_t slot) noexcept;

  /// Serves slots from the plan from now on; null: from the pools.
  void bind(const MemoryPlan* plan);
  /// Moves the pointers that change from run to run. Requires the inputs to be set.
  void rebind();
  /// Starts recording into `recorder` (null: stops).
  void record(Recorder* recorder) { recorder_ = recorder; }
  /// What was recorded, as a plan.
  [[nodiscard]] std::shared_ptr<const MemoryPlan> make_plan(Recorder& recorder,
                                                            Signature signature) const;
  /// Launches and records captures of the plan that is bound from now on; null:
  /// none.
  void use(CapturedPlan* captures) { captures_ = captures; }
  /// True if a step asked for something else than the plan says since bind().
  [[nodiscard]] bool has_diverged() const { return has_diverged_; }

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] ExecutionContext& context() { return context_; }
  [[nodiscard]] Slot& slot(uint32_t index) { return slots_[index]; }
  [[nodiscard]] std::vector<StepCall>& calls() { return calls_; }
  [[nodiscard]] Frame& child(uint32_t step, uint32_t body) { return *children_[step][body]; }
  [[nodiscard]] ControlState& control(uint32_t step);
  /// Waits for the devices that write outputs of this frame.
  void wait_for_outputs();
  /// Makes `slot` use memory for a tensor that is not asked for by a kernel (what control flow
  /// hands out).
  gantry_tensor* allocate(uint32_t slot, DType dtype, uint32_t rank, const int64_t* shape);

 private:
  void prepare_calls();
  void point_uses_at(Slot& slot, const gantry_tensor* tensor, const gantry_value* value);
  void run_kernel(const Step& step, StepCall& call);
  void run_copy(const Step& step, StepCall& call);
  void run_reorder(const Step& step, StepCall& call);
  void wait_for_inputs(const Step& step);
  void note_step(const Step& step, StepCall& call, uint64_t start_ns);
  void note_replay(const Step& head, uint64_t start_ns);
  void finish_step(const Step& step, StepCall& call);
  void release_scratch(const Step& step, StepCall& call) noexcept;
  void release_ended(const Step& step) noexcept {
    if (dynamic_.empty()) return;
    for (const uint32_t slot : step.releases) release(slot);
  }
  bool run_stretch(const Step& head);
  gantry_capture* record_stretch(const Step& head);
  bool run_recording(const Step& head);
  gantry_tensor* request_slow(StepCall& call, uint32_t index, uint32_t slot_index, DType dtype,
                              uint32_t rank, const int64_t* shape);
  bool reuse_input(const Step& step, uint32_t index, uint32_t target, DType dtype,
                   uint64_t size_bytes);
  gantry_tensor* request_output(uint32_t slot_index, DType dtype, uint32_t rank,
                                const int64_t* shape);
  gantry_tensor* request_delivered(uint32_t slot_index, DType dtype, uint32_t rank,
                                   const int64_t* shape);
  [[nodiscard]] bool takes_delivery(uint32_t slot, DType dtype, uint32_t rank,
                                    const int64_t* shape) const;
  void use_block(uint32_t slot, Block* block);
  void show(uint32_t slot, DType dtype, uint32_t rank, const int64_t* shape, void* data,
            uint64_t size_bytes);
  Block* new_block(uint32_t space, uint64_t size_bytes);
  void drop_block(Block* block) noexcept;
  void note_slot(uint32_t slot, PlannedSlot::Kind kind, int32_t record, uint32_t source);

  const Program& program_;
  ExecutionContext& context_;
  std::vector<Slot> slots_;
  std::vector<StepCall> calls_;
  std::vector<std::vector<std::unique_ptr<Frame>>> children_;  // by step, by body
  std::vector<std::unique_ptr<ControlState>> controls_;        // by step, made on first use
  const MemoryPlan* plan_ = nullptr;
  Recorder* recorder_ = nullptr;
  CapturedPlan* captures_ = nullptr;
  std::vector<uint32_t> moving_;  // slots of kind kRepeats, in the order of their steps
  uint32_t step_ = 0;             // being issued
  bool has_diverged_ = false;
  std::vector<uint32_t> dynamic_;  // slots that hold a block or a ref

  // Where what is made in `slot` stands, in the frame around this one.
  struct Delivery {
    uint32_t slot;
    Frame* outer;
    uint32_t outer_slot;
    bool is_made = false;
  };
  [[nodiscard]] Delivery* find_delivery(uint32_t slot);
  std::vector<Delivery> deliveries_;
};

/// Makes the memory of an output of the graph.
using MakeOutput = std::function<ValueRef(DType, std::span<const int64_t>)>;

/// What a run ends with that was cancelled or is out of time.
Error stop_error(Code code);

/// When a run is to stop before it has ended.
struct RunLimits {
  const std::atomic<bool>* cancel = nullptr;
  std::chrono::steady_clock::time_point deadline = {};
  bool has_deadline = false;

  RunLimits() = default;
  explicit RunLimits(const RunOptions& options)
      : cancel(options.cancel), has_deadline(options.timeout_ns.has_value()) {
    if (has_deadline) set_deadline(*options.timeout_ns);
  }
  [[nodiscard]] bool can_stop() const noexcept { return cancel || has_deadline; }
  /// 0, or the code with which the run is to stop.
  [[nodiscard]] Code stop_code() const noexcept { return can_stop() ? asked_code() : Code::kOk; }

 private:
  void set_deadline(uint64_t timeout_ns);
  [[nodiscard]] Code asked_code() const noexcept;
};

/// Memory, streams and kernel state of one run at a time.
class ExecutionContext {
 public:
  ExecutionContext(const Program& program, const DeviceTable& devices, uint32_t threads);
  ~ExecutionContext();
  ExecutionContext(const ExecutionContext&) = delete;
  ExecutionContext& operator=(const ExecutionContext&) = delete;

  [[nodiscard]] Frame& main() { return *main_; }
  [[nodiscard]] CaptureCache& captures() { return *captures_; }
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
  /// Between runs: gives everything back.
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
  /// A device may use this context's memory for ever; it must be kept as it is.
  [[nodiscard]] bool is_abandoned() const { return is_abandoned_; }
  [[nodiscard]] MemoryUse memory() const;

  /// Times every step from now on, and records what happens if `trace` keeps records. `number`: of
  /// this context in its session. The trace must outlive the context.
  void attach(Trace& trace, size_t number);
  [[nodiscard]] Trace* trace() const { return trace_; }
  /// For the trace: the stream of the step's device has work of it that began at `issued_ns`.
  /// `replayed`: steps that were launched as one, from `step` on; 0: it was run by itself.
  void note_on_stream(const Step& step, uint64_t issued_ns, uint32_t replayed = 0);
  /// For the trace: the sizes of arenas and pools, where they changed.
  void note_memory() noexcept;

  /// 0, or the code with which the run is to stop.
  [[nodiscard]] Code stop_code() const noexcept { return limits.stop_code(); }

  std::shared_ptr<const MemoryPlan> plan;  ///< bound to the main frame
  Signature signature;                     ///< of the run, reused between runs
  RunLimits limits;
  uint64_t grace_ms = 2000;
  GiveBack give_back_others;          ///< called when this context has no more to give back
  std::vector<ValueRef> kept_inputs;  ///< of the run in which it was abandoned
  std::atomic<uint64_t>* const own_mark = mark_cell();
  std::atomic<uint64_t>* mark = own_mark;   ///< takes Step::mark of the kernel that runs now
  std::vector<ValueRef> bound_outputs;      ///< by graph output; null: made by the run
  const MakeOutput* make_output = nullptr;  ///< of a run; null: make_tensor

 private:
  gantry_event* mark_end(uint32_t space);
  bool comes_to_rest(uint32_t space);

  const DeviceTable& devices_;
  std::vector<std::unique_ptr<MemoryPool>> pools_;  // of spaces, then of areas; so are arenas_
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::vector<gantry_stream*> streams_;
  std::vector<gantry_event*> ends_;  // by space, made when first wanted
  bool is_abandoned_ = false;
  ThreadTeam team_;
  Trace* trace_ = nullptr;
  std::vector<std::unique_ptr<StreamClock>> clocks_;  // by space, if there are records
  std::vector<uint32_t> memory_tracks_;               // likewise
  std::vector<std::array<int64_t, 2>> noted_memory_;  // likewise
  std::unique_ptr<Frame> main_;
  std::unique_ptr<CaptureCache> captures_;
};

/// Lets go of what a slot that belongs to no frame holds.
void clear_slot(Slot& slot) noexcept;

/// Runs a control-flow step of a frame: If, Loop, Scan.
void run_control_flow(Frame& frame, uint32_t step_index);
void run_scan(Frame& frame, uint32_t step_index);

}  // namespace gantry

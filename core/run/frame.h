// SPDX-License-Identifier: Apache-2.0
// A program in execution: the values in its slots and the steps that it issues. One thread at a
// time. A frame is prepared once and reused by later runs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "program/program.h"
#include "run/capture.h"
#include "run/frame_state.h"

namespace gantry {

class Frame;
class RunResources;

}  // namespace gantry

/// A kernel call of a frame: the handle that a kernel passes to the host's run services.
struct gantry_run {
  gantry::Frame* frame = nullptr;
  gantry::StepCall* call = nullptr;
};

namespace gantry {

/// A program in execution. The main frame belongs to an execution context, the frame of a body to
/// the frame of the step that runs it; all use the same resources.
class Frame {
 public:
  /// Program and resources must outlive the frame. Errors: of creating the kernels' contexts.
  Frame(const Program& program, RunResources& resources);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  /// Issues every step. Requires inputs and captures to be set. On error the frame must be reset.
  void run();
  /// Releases every value; memory outside the plan goes back to the pools.
  void reset() noexcept;

  /// The slot becomes a view of the dense tensor `value`, whose memory must outlive the run.
  void set_view(uint32_t slot, const gantry_value& value);
  /// The slot becomes `ref`, a value of any kind.
  void set_ref(uint32_t slot, ValueRef ref);
  /// The slot becomes a view of, or a reference to, the value in another frame's slot, which must
  /// outlive this frame's run.
  void set_from(uint32_t slot, const Slot& source);
  /// Moves the value of a body's slot into a slot of this frame: shares its block or reference, and
  /// copies the elements of a view. Tensors that leave the session are always copied.
  void take_from(uint32_t slot, Slot& source);
  /// On the frame of a body: a step's output in `slot` is made directly in the memory of
  /// `outer_slot` of the enclosing frame, if that slot leaves the session. Until reset().
  void deliver(uint32_t slot, Frame& outer, uint32_t outer_slot);
  /// Moves an output of a body's frame into a slot of this frame. Copies nothing if the value was
  /// made there by deliver().
  void take_output(uint32_t slot, Frame& body, uint32_t body_slot);
  /// Dense tensor for an output slot of a step: from the plan, over an input where that is granted,
  /// or in new memory. Errors: as gantry_host.output.
  gantry_tensor* request(StepCall& call, uint32_t index, DType dtype, uint32_t rank,
                         const int64_t* shape);
  /// Sets the final shape of a tensor that was requested with an upper bound. INVALID_ARGUMENT: an
  /// extent is larger or below 0.
  void shrink(uint32_t slot, const int64_t* shape);
  void* request_scratch(StepCall& call, uint32_t space, uint64_t size_bytes);
  /// The caller's tensor for an output of a step; null: the caller bound none, or the value is no
  /// output of the session.
  [[nodiscard]] const gantry_tensor* bound_output(const StepCall& call, uint32_t index) const;
  void release(uint32_t slot) noexcept;

  /// From now on slots have the memory of the plan; null: of the pools.
  void bind(const MemoryPlan* plan);
  /// Updates the pointers that change from run to run. Requires the inputs to be set.
  void rebind();
  /// Starts recording into `recorder` (null: stops).
  void record(Recorder* recorder) { recorder_ = recorder; }
  /// Makes a memory plan from the record.
  [[nodiscard]] std::shared_ptr<const MemoryPlan> make_plan(Recorder& recorder,
                                                            Signature signature) const;
  /// From now on launches and records captures of the bound plan; null: none.
  void use(CapturedPlan* captures) { captures_ = captures; }
  /// True if a step since bind() requested other memory than the plan has.
  [[nodiscard]] bool has_diverged() const { return has_diverged_; }

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] RunResources& resources() { return resources_; }
  [[nodiscard]] Slot& slot(uint32_t index) { return slots_[index]; }
  [[nodiscard]] std::vector<StepCall>& calls() { return calls_; }
  [[nodiscard]] Frame& child(uint32_t step, uint32_t body) { return *children_[step][body]; }
  [[nodiscard]] ControlState& control(uint32_t step);
  /// Waits for the devices that write outputs of this frame.
  void wait_for_outputs();
  /// Memory in `slot` for a tensor that no kernel requests: an output of control flow.
  gantry_tensor* allocate(uint32_t slot, DType dtype, uint32_t rank, const int64_t* shape);

 private:
  struct Empty {};
  Frame(const Program& program, RunResources& resources, Empty);
  void prepare_calls();
  void point_uses_at(Slot& slot, const gantry_tensor* tensor, const gantry_value* value);
  void run_kernel(const Step& step, StepCall& call);
  void run_copy(const Step& step, StepCall& call);
  bool takes_resident(const Step& step);
  void narrow_on_device(uint32_t output, const gantry_tensor& made);
  gantry_tensor* request_resident(uint32_t slot, DType dtype, uint32_t rank, const int64_t* shape);
  void expect_bound_shape(uint32_t slot, const gantry_value& bound, DType dtype, uint32_t rank,
                          const int64_t* shape) const;
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
  bool run_segment(const Step& head);
  gantry_capture* record_segment(const Step& head);
  bool run_recording(const Step& head);
  gantry_tensor* request_slow(StepCall& call, uint32_t index, uint32_t slot_index, DType dtype,
                              uint32_t rank, const int64_t* shape);
  bool reuse_input(const Step& step, uint32_t index, uint32_t target, DType dtype,
                   uint64_t size_bytes);
  [[nodiscard]] bool leaves_session(uint32_t index) const;
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
  RunResources& resources_;
  std::vector<Slot> slots_;
  std::vector<StepCall> calls_;
  std::vector<gantry_run> handles_;                            // by step: what its call points to
  std::vector<std::vector<std::unique_ptr<Frame>>> children_;  // by step, by body
  std::vector<std::unique_ptr<ControlState>> controls_;        // by step, made on first use
  const MemoryPlan* plan_ = nullptr;
  Recorder* recorder_ = nullptr;
  CapturedPlan* captures_ = nullptr;
  std::vector<uint32_t> moving_;  // slots of kind kRepeats, in the order of their steps
  uint32_t step_ = 0;             // index of the step being issued
  bool has_diverged_ = false;
  std::vector<uint32_t> dynamic_;  // slots that hold a block or a ref

  // A slot whose value is made in the memory of a slot of the enclosing frame; see deliver().
  struct Delivery {
    uint32_t slot;
    Frame* outer;
    uint32_t outer_slot;
    bool is_made = false;
  };
  [[nodiscard]] Delivery* find_delivery(uint32_t slot);
  std::vector<Delivery> deliveries_;
};

/// Runs a control-flow step of a frame: If, Loop, Scan.
void run_control_flow(Frame& frame, uint32_t step_index);

}  // namespace gantry

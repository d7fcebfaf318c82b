// SPDX-License-Identifier: Apache-2.0
// If and Loop. Bodies are programs of their own; values pass between frames as views, shared blocks
// or references.
#include "run/control_flow.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/elements.h"
#include "run/run_resources.h"

namespace gantry {
namespace {

// The single element of a boolean or integer tensor in an input of a control-flow step.
template <class T>
T scalar(Frame& frame, const Step& step, size_t input, const char* what) {
  const gantry_value& value = frame.slot(step.inputs[input]).get();
  if (value.kind != GANTRY_KIND_TENSOR || value.view.size_bytes != sizeof(T)) {
    throw Error(Code::kInvalidModel,
                step.label + ": " + what + " must be one element, found " + describe(value));
  }
  T result;
  std::memcpy(&result, value.view.data, sizeof(T));
  return result;
}

void run_if(Frame& frame, uint32_t step_index) {
  const Step& step = frame.program().steps()[step_index];
  const bool condition = scalar<uint8_t>(frame, step, 0, "the condition") != 0;
  Frame& body = frame.child(step_index, condition ? 0 : 1);
  const TraceSpan span(frame.resources().trace(), "control flow",
                       condition ? "then_branch" : "else_branch");
  pass_captures(frame, step, body);
  const std::vector<OutputSource>& made = body.program().outputs();
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.wanted[i]) body.deliver(made[i].slot, frame, step.outputs[i]);
  }
  body.run();
  body.wait_for_outputs();
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.wanted[i]) frame.take_output(step.outputs[i], body, made[i].slot);
  }
  body.reset();
}

// Makes room in the slot's memory for one more element of `size` values after the first `count`.
void make_room(Frame& body, Slot& target, int64_t size, int64_t count, int64_t most) {
  const DType dtype = target.value.dtype;
  const uint64_t used = bytes_of(dtype, count * size);
  const uint64_t needed = bytes_of(dtype, element_count(std::array{count + 1, size}));
  if (!target.block || needed > target.block->size_bytes) {
    const int64_t room = std::min<int64_t>(most, std::max<int64_t>(16, 2 * count));
    const uint64_t wanted = bytes_of(dtype, element_count(std::array{room, size}));
    Block* block = body.resources().pool(0).allocate(std::max<uint64_t>(wanted, 1));
    if (used > 0) std::memcpy(block->data, target.block->data, used);
    if (target.block) target.block->pool->release(target.block);
    target.block = block;
  }
  target.value.view.data = target.block->data;
  target.value.view.size_bytes = needed;
  // The last byte of a packed type may have bits that no element writes.
  if (needed > used) static_cast<std::byte*>(target.block->data)[needed - 1] = std::byte{0};
}

// Appends one iteration's tensor to a collected scan output.
void collect(Frame& body, const Step& step, const gantry_value& element, Slot& target,
             int64_t& count, int64_t most) {
  if (element.kind != GANTRY_KIND_TENSOR) {
    throw Error(Code::kInvalidModel,
                step.label + ": a scan output must be a tensor, found " + describe(element));
  }
  if (count == 0) {
    clear_slot(target);
    if (element.dtype == DType::kString) target.ref = make_tensor(DType::kString, element.shape);
    target.value.set_tensor(element.dtype, element.view.shape, element.view.rank, nullptr, 0);
  }
  if (element.shape != target.value.shape) {
    throw Error(Code::kInvalidModel, step.label + ": a scan output changed its shape to " +
                                         describe(element) + " in iteration " +
                                         std::to_string(count));
  }
  const int64_t size = element_count(element.shape);
  if (target.ref) {
    target.ref->strings.resize(static_cast<size_t>((count + 1) * size));
  } else {
    make_room(body, target, size, count, most);
  }
  copy_elements(element, {}, target.ref ? *target.ref : target.value, {count * size, 0}, 1, size);
  ++count;
}

// Shape of a scan output that no iteration made: from the body's declared type.
std::vector<int64_t> empty_shape(const SlotInfo& info) {
  std::vector<int64_t> shape = {0};
  for (const int64_t extent : info.type->shape) shape.push_back(std::max<int64_t>(extent, 0));
  return shape;
}

// Loop-1, 11, 13, ...: inputs M?, cond?, v_initial...; body inputs iteration, cond, v...; body
// outputs cond, v..., scan outputs.
class LoopRun {
 public:
  LoopRun(Frame& frame, uint32_t step_index)
      : frame_(frame),
        step_(frame.program().steps()[step_index]),
        body_(frame.child(step_index, 0)),
        state_(frame.control(step_index)),
        carried_count_(step_.control->inputs.size() -
                       std::min<size_t>(2, step_.control->inputs.size())) {
    const size_t scans = body_.program().outputs().size() - 1 - carried_count_;
    if (state_.carried.size() != carried_count_ || state_.collected.size() != scans) {
      state_.carried = std::vector<Slot>(carried_count_);
      state_.next = std::vector<Slot>(carried_count_);
      state_.collected = std::vector<Slot>(scans);
      state_.counts.assign(scans, 0);
    }
  }

  void run() {
    const bool has_limit = step_.inputs[0] != kNoSlot;
    const int64_t limit =
        has_limit ? scalar<int64_t>(frame_, step_, 0, "the trip count") : INT64_MAX;
    bool go_on = step_.inputs.size() < 2 || step_.inputs[1] == kNoSlot ||
                 scalar<uint8_t>(frame_, step_, 1, "the condition") != 0;
    start();
    for (int64_t i = 0; i < limit && go_on; ++i) {
      if (const Code code = frame_.resources().stop_code(); code != Code::kOk)
        throw Error(code, step_.label + ": the run was stopped");
      go_on = iterate(i, limit);
    }
    finish();
  }

 private:
  void start() {
    std::fill(state_.counts.begin(), state_.counts.end(), 0);
    for (size_t i = 0; i < carried_count_; ++i) {
      Slot& slot = state_.carried[i];
      const Slot& source = frame_.slot(step_.inputs[2 + i]);
      clear_slot(slot);
      if (source.ref) {
        slot.ref = source.ref;
      } else {
        const gantry_tensor& view = source.value.view;
        slot.value.set_tensor(source.value.dtype, view.shape, view.rank, view.data,
                              view.size_bytes);
      }
    }
  }

  bool iterate(int64_t number, int64_t limit) {
    const std::vector<uint32_t>& inputs = body_.program().inputs();
    state_.iteration_data = number;
    state_.condition_data = 1;
    set_one_element(state_.iteration, DType::kInt64, inputs[0], &state_.iteration_data);
    set_one_element(state_.condition, DType::kBool, inputs[1], &state_.condition_data);
    body_.set_view(inputs[0], state_.iteration);
    body_.set_view(inputs[1], state_.condition);
    for (size_t i = 0; i < carried_count_; ++i) body_.set_from(inputs[2 + i], state_.carried[i]);
    pass_captures(frame_, step_, body_);
    const std::vector<OutputSource>& outputs = body_.program().outputs();
    // The last iteration makes its outputs in their final memory.
    const bool is_last = number + 1 == limit;
    for (size_t i = 0; is_last && i < carried_count_; ++i) {
      if (step_.wanted[i]) body_.deliver(outputs[1 + i].slot, frame_, step_.outputs[i]);
    }
    const TraceSpan span(frame_.resources().trace(), "control flow", "iteration");
    body_.run();
    body_.wait_for_outputs();

    const gantry_value& condition = body_.slot(outputs[0].slot).get();
    if (condition.view.size_bytes != 1) {
      throw Error(
          Code::kInvalidModel,
          step_.label + ": the body's condition must be one element, found " + describe(condition));
    }
    const bool go_on = *static_cast<const uint8_t*>(condition.view.data) != 0;
    for (size_t i = 0; i < carried_count_; ++i) {
      if (!is_last) keep(body_, body_.slot(outputs[1 + i].slot), state_.next[i]);
      if (is_last && step_.wanted[i])
        frame_.take_output(step_.outputs[i], body_, outputs[1 + i].slot);
    }
    is_handed_out_ = is_last;
    for (size_t i = 0; i < state_.collected.size(); ++i) {
      if (!step_.wanted[carried_count_ + i]) continue;
      collect(body_, step_, body_.slot(outputs[1 + carried_count_ + i].slot).get(),
              state_.collected[i], state_.counts[i], limit);
    }
    body_.reset();
    for (Slot& slot : state_.carried) clear_slot(slot);
    state_.carried.swap(state_.next);
    return go_on;
  }

  // A scalar, or [1] where the body's input is declared so, which ONNX Runtime obeys and spox
  // writes.
  void set_one_element(gantry_value& value, DType dtype, uint32_t input, void* data) {
    constexpr int64_t kOne = 1;
    const TypeInfo& declared = *body_.program().slots()[input].type;
    const bool has_axis = declared.has_rank && declared.shape.size() == 1;
    value.set_tensor(dtype, &kOne, has_axis ? 1 : 0, data, bytes_of(dtype, 1));
  }

  void finish() {
    for (size_t i = 0; i < carried_count_; ++i) {
      if (step_.wanted[i] && !is_handed_out_) frame_.take_from(step_.outputs[i], state_.carried[i]);
      clear_slot(state_.carried[i]);
    }
    for (size_t i = 0; i < state_.collected.size(); ++i) {
      if (step_.wanted[carried_count_ + i]) hand_out(i);
      clear_slot(state_.collected[i]);
    }
  }

  void hand_out(size_t scan) {
    const uint32_t slot = step_.outputs[carried_count_ + scan];
    Slot& source = state_.collected[scan];
    const int64_t count = state_.counts[scan];
    const SlotInfo& made =
        body_.program().slots()[body_.program().outputs()[1 + carried_count_ + scan].slot];
    if (count == 0) {
      const std::vector<int64_t> shape = empty_shape(made);
      if (made.type->dtype == DType::kString) {
        frame_.set_ref(slot, make_tensor(DType::kString, shape));
      } else {
        frame_.allocate(slot, made.type->dtype, static_cast<uint32_t>(shape.size()), shape.data());
      }
      return;
    }
    std::vector<int64_t> shape = source.value.shape;
    shape.insert(shape.begin(), count);
    if (source.ref) {
      source.ref->set_tensor(DType::kString, shape.data(), shape.size(), nullptr, 0);
      frame_.set_ref(slot, source.ref);
    } else {
      const gantry_tensor* target = frame_.allocate(
          slot, source.value.dtype, static_cast<uint32_t>(shape.size()), shape.data());
      if (target->size_bytes > 0) std::memcpy(target->data, source.block->data, target->size_bytes);
    }
  }

  Frame& frame_;
  const Step& step_;
  Frame& body_;
  ControlState& state_;
  size_t carried_count_;
  bool is_handed_out_ = false;  // the carried values are in the outputs of the node
};

}  // namespace

void pass_captures(Frame& frame, const Step& step, Frame& body) {
  const size_t first = step.control->inputs.size();
  const std::vector<uint32_t>& captures = body.program().captures();
  for (size_t i = 0; i < captures.size(); ++i) {
    if (captures[i] != kNoSlot) body.set_from(captures[i], frame.slot(step.inputs[first + i]));
  }
}

void keep(Frame& body, Slot& source, Slot& target) {
  clear_slot(target);
  const gantry_value& value = source.get();
  if (source.ref) {
    target.ref = source.ref;
  } else {
    const gantry_tensor& view = value.view;
    void* data = view.data;
    if (source.block) {
      ++source.block->users;
      target.block = source.block;
    } else {
      target.block = body.resources().pool(0).allocate(std::max<uint64_t>(view.size_bytes, 1));
      data = target.block->data;
      if (view.size_bytes > 0) std::memcpy(data, view.data, view.size_bytes);
    }
    target.value.set_tensor(value.dtype, view.shape, view.rank, data, view.size_bytes);
  }
  target.is_set = true;
}

void run_control_flow(Frame& frame, uint32_t step_index) {
  const std::string& op_type = frame.program().steps()[step_index].op_type;
  if (op_type == "If") {
    run_if(frame, step_index);
  } else if (op_type == "Loop") {
    LoopRun(frame, step_index).run();
  } else {
    run_scan(frame, step_index);
  }
}

}  // namespace gantry

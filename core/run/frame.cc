// SPDX-License-Identifier: Apache-2.0
#include "run/frame.h"

#include <algorithm>
#include <cstring>

#include "plugin/error.h"
#include "run/run_resources.h"

namespace gantry {
namespace {

bool is_plain_tensor(const gantry_value& value) {
  return value.kind == GANTRY_KIND_TENSOR && value.dtype != DType::kString;
}

}  // namespace

Frame::Frame(const Program& program, RunResources& resources, Empty /*without contexts*/)
    : program_(program),
      resources_(resources),
      slots_(program.slots().size()),
      calls_(program.steps().size()),
      handles_(program.steps().size()),
      children_(program.steps().size()) {}

// The delegated constructor completes the object first, so that its destructor frees the kernels'
// contexts if the rest throws.
Frame::Frame(const Program& program, RunResources& resources) : Frame(program, resources, Empty{}) {
  prepare_calls();
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    const SlotInfo& info = program.slots()[i];
    if (info.constant) {
      if (is_plain_tensor(*info.constant)) {
        set_view(i, *info.constant);
      } else {
        set_ref(i, info.constant);
      }
    }
  }
  dynamic_.clear();  // constants stay
  for (uint32_t step = 0; step < program.steps().size(); ++step) {
    for (const auto& body : program.bodies(step)) {
      children_[step].push_back(std::make_unique<Frame>(*body, resources));
    }
    const gantry_kernel& kernel = program.steps()[step].kernel.raw();
    if (kernel.context_create) {
      throw_if(kernel.context_create(kernel.self, &calls_[step].kernel_context),
               program.steps()[step].label);
    }
  }
}

Frame::~Frame() {
  reset();
  for (uint32_t step = 0; step < calls_.size(); ++step) {
    const gantry_kernel& kernel = program_.steps()[step].kernel.raw();
    if (kernel.context_destroy && calls_[step].kernel_context) {
      kernel.context_destroy(kernel.self, calls_[step].kernel_context);
    }
  }
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].event)
      resources_.space(program_.slots()[i].event_space).api->event_destroy(slots_[i].event);
  }
}

void Frame::prepare_calls() {
  for (uint32_t i = 0; i < calls_.size(); ++i) {
    const Step& step = program_.steps()[i];
    StepCall& call = calls_[i];
    call.step = i;
    handles_[i] = {this, &call};
    call.inputs.assign(step.inputs.size(), nullptr);
    call.values.assign(step.inputs.size(), nullptr);
    for (size_t k = 0; k < step.inputs.size(); ++k) {
      if (step.inputs[k] == kNoSlot) continue;
      Slot& slot = slots_[step.inputs[k]];
      call.inputs[k] = &slot.value.view;
      call.values[k] = &slot.value;
      slot.uses.emplace_back(&call.inputs[k], &call.values[k]);
    }
    call.call.size = sizeof(gantry_call);
    call.call.input_count = static_cast<uint32_t>(step.inputs.size());
    call.call.output_count = static_cast<uint32_t>(step.outputs.size());
    call.call.inputs = call.inputs.data();
    call.call.values = call.values.data();
    call.call.wanted = step.wanted.data();
    call.call.run = &handles_[i];
    call.call.stream = resources_.stream(step.space);
  }
}

// Slots.

void Frame::point_uses_at(Slot& slot, const gantry_tensor* tensor, const gantry_value* value) {
  for (const auto& [tensor_use, value_use] : slot.uses) {
    *tensor_use = tensor;
    *value_use = value;
  }
}

void Frame::show(uint32_t slot, DType dtype, uint32_t rank, const int64_t* shape, void* data,
                 uint64_t size_bytes) {
  Slot& target = slots_[slot];
  if (target.ref) {
    target.ref.reset();
    point_uses_at(target, &target.value.view, &target.value);
  }
  target.value.set_tensor(dtype, shape, rank, data, size_bytes);
  const SlotInfo& info = program_.slots()[slot];
  target.value.view.device = info.space;
  if (info.format) {
    int64_t stride = 1;
    for (uint32_t i = rank; i-- > 0;) {
      target.strides[info.format->order[i]] = stride;
      stride *= shape[info.format->order[i]];
    }
    target.value.view.strides = target.strides.data();
    target.value.view.format = info.format.get();
  }
  target.is_set = true;
}

void Frame::set_view(uint32_t slot, const gantry_value& value) {
  show(slot, value.dtype, value.view.rank, value.view.shape, value.view.data,
       value.view.size_bytes);
}

void Frame::set_ref(uint32_t slot, ValueRef ref) {
  Slot& target = slots_[slot];
  const bool is_tensor = ref->kind == GANTRY_KIND_TENSOR;
  point_uses_at(target, is_tensor ? &ref->view : nullptr, ref.get());
  if (!target.ref) dynamic_.push_back(slot);
  has_diverged_ = has_diverged_ || target.is_planned;
  target.is_planned = false;
  target.ref = std::move(ref);
  target.is_set = true;
}

void Frame::set_from(uint32_t slot, const Slot& source) {
  if (source.ref) {
    set_ref(slot, source.ref);
  } else {
    set_view(slot, source.value);
  }
}

void Frame::use_block(uint32_t slot, Block* block) {
  slots_[slot].block = block;
  dynamic_.push_back(slot);
}

void Frame::release(uint32_t slot) noexcept {
  Slot& target = slots_[slot];
  if (target.block) {
    drop_block(target.block);
    target.block = nullptr;
  }
  if (target.ref) {
    target.ref.reset();
    point_uses_at(target, &target.value.view, &target.value);
  }
}

void Frame::reset() noexcept {
  deliveries_.clear();
  for (const uint32_t slot : dynamic_) release(slot);
  dynamic_.clear();
  for (StepCall& call : calls_) {
    for (Block* block : call.scratch) drop_block(block);
    call.scratch.clear();
  }
  for (auto& bodies : children_) {
    for (auto& body : bodies) body->reset();
  }
  for (auto& control : controls_) {
    if (!control) continue;
    for (auto* slots : {&control->carried, &control->next, &control->collected}) {
      for (Slot& slot : *slots) clear_slot(slot);
    }
  }
}

// Running.

void Frame::run() {
  const std::vector<Step>& steps = program_.steps();
  Trace* const trace = resources_.trace();
  for (step_ = 0; step_ < steps.size(); ++step_) {
    if (const Code code = resources_.stop_code(); code != Code::kOk) [[unlikely]] {
      throw stop_error(code);
    }
    const Step& step = steps[step_];
    if (captures_ && step.capturable_steps > 0 && run_segment(step)) continue;
    StepCall& call = calls_[step_];
    if (!step.waits.empty()) wait_for_inputs(step);
    const uint64_t start_ns = trace ? Trace::now() : 0;
    switch (step.kind) {
      case StepKind::kKernel:
        run_kernel(step, call);
        break;
      case StepKind::kCopy:
        run_copy(step, call);
        break;
      case StepKind::kReorder:
        run_reorder(step, call);
        break;
      case StepKind::kControlFlow:
        run_control_flow(*this, step_);
        break;
    }
    if (trace) [[unlikely]]
      note_step(step, call, start_ns);
    finish_step(step, call);
  }
}

void Frame::wait_for_inputs(const Step& step) {
  const TraceSpan span(resources_.trace(), "wait", "wait for the device");
  for (const uint32_t slot : step.waits) {
    if (slots_[slot].event)
      resources_.wait(program_.slots()[slot].event_space, slots_[slot].event, step.label);
  }
}

void Frame::run_kernel(const Step& step, StepCall& call) {
  for (const uint32_t slot : step.outputs) {
    if (slot != kNoSlot) slots_[slot].is_set = false;
  }
  const gantry_kernel& kernel = step.kernel.raw();
  resources_.mark->store(step.mark, std::memory_order_relaxed);
  gantry_error* error = contain([&] {
    gantry_error* returned = kernel.run(kernel.self, call.kernel_context, &call.call);
    if (call.thrown && !returned) [[unlikely]]
      std::rethrow_exception(call.thrown);
    return returned;
  });
  call.thrown = nullptr;
  if (error) [[unlikely]] {
    const bool is_named = message_of(error).find("\"" + step.node + "\"") != std::string_view::npos;
    resources_.space(step.space).check(error, is_named ? std::string() : step.label);
  }
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.wanted[i] && !slots_[step.outputs[i]].is_set) [[unlikely]] {
      throw Error(Code::kDeviceError, step.label + ": provider \"" + step.provider +
                                          "\" did not make output " + std::to_string(i) + " (\"" +
                                          program_.slots()[step.outputs[i]].name + "\")");
    }
  }
}

void Frame::run_copy(const Step& step, StepCall& call) {
  if (takes_resident(step)) return;
  const gantry_tensor& source = slots_[step.inputs[0]].get().view;
  const bool to_host = program_.slots()[step.outputs[0]].space == 0;
  slots_[step.outputs[0]].is_set = false;
  const gantry_tensor* target =
      request(call, 0, static_cast<DType>(source.dtype), source.rank, source.shape);
  if (source.size_bytes == 0) return;
  const MemorySpace& space = resources_.space(step.space);
  const uint32_t from = program_.slots()[step.inputs[0]].space;
  if (from != 0 && from != step.space) {
    space.check(space.peer_copies->copy(resources_.stream(step.space), resources_.stream(from),
                                        target->data, source.data, source.size_bytes),
                step.label);
    return;
  }
  const gantry_copy copy = {
      sizeof(copy),
      static_cast<uint32_t>(to_host ? GANTRY_COPY_DEVICE_TO_HOST : GANTRY_COPY_HOST_TO_DEVICE),
      target->data,
      source.data,
      1,
      source.size_bytes,
      source.size_bytes,
      source.size_bytes};
  space.check(space.api->copy(resources_.stream(step.space), &copy), step.label);
}

void Frame::run_reorder(const Step& step, StepCall& call) {
  const gantry_tensor& source = slots_[step.inputs[0]].get().view;
  slots_[step.outputs[0]].is_set = false;
  gantry_tensor* target =
      request(call, 0, static_cast<DType>(source.dtype), source.rank, source.shape);
  if (source.size_bytes == 0) return;
  const gantry_provider_api& api = step.owner->api();
  resources_.mark->store(step.mark, std::memory_order_relaxed);
  gantry_error* error = contain(
      [&] { return api.reorder(api.self, call.call.run, call.call.stream, &source, target); });
  if (error) resources_.space(step.space).check(error, step.label);
}

void Frame::finish_step(const Step& step, StepCall& call) {
  if (step.space != 0) {
    for (const uint32_t slot : step.outputs) {
      if (slot == kNoSlot || program_.slots()[slot].event_space == 0) continue;
      const MemorySpace& space = resources_.space(step.space);
      if (!slots_[slot].event)
        space.check(space.api->event_create(space.device, &slots_[slot].event), step.label);
      space.check(space.api->event_record(slots_[slot].event, resources_.stream(step.space)),
                  step.label);
    }
  }
  call.scratch_next = 0;
  if (!call.scratch.empty()) release_scratch(step, call);
  release_ended(step);
}

// Device memory is reused in stream order, so it is released now. The device may still read or
// write host memory, so that is released when the run ends.
void Frame::release_scratch(const Step& step, StepCall& call) noexcept {
  const auto is_over = [&](Block* block) {
    if (step.space != 0 && block->pool == &resources_.pool(0)) return false;
    drop_block(block);
    return true;
  };
  std::erase_if(call.scratch, is_over);
}

ControlState& Frame::control(uint32_t step) {
  if (controls_.empty()) controls_.resize(calls_.size());
  if (!controls_[step]) controls_[step] = std::make_unique<ControlState>();
  return *controls_[step];
}

void Frame::wait_for_outputs() {
  for (const OutputSource& output : program_.outputs()) {
    Slot& slot = slots_[output.slot];
    if (!slot.event) continue;
    const SlotInfo& info = program_.slots()[output.slot];
    resources_.wait(info.event_space, slot.event, "output \"" + info.name + "\" of a body");
  }
}

void clear_slot(Slot& slot) noexcept {
  if (slot.block) slot.block->pool->release(slot.block);
  slot.block = nullptr;
  slot.ref.reset();
  slot.is_set = false;
}

}  // namespace gantry

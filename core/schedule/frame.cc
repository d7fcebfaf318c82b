// SPDX-License-Identifier: Apache-2.0
#include "schedule/frame.h"

#include <algorithm>
#include <cstring>

#include "plugin/error.h"

namespace gantry {
namespace {

bool is_plain_tensor(const gantry_value& value) {
  return value.kind == GANTRY_KIND_TENSOR && value.dtype != DType::kString;
}

// Asks for memory in steps of the recorded run that lasted to its end.
constexpr uint32_t kOpen = UINT32_MAX;

}  // namespace

Frame::Frame(const Program& program, ExecutionContext& context)
    : program_(program),
      context_(context),
      slots_(program.slots().size()),
      calls_(program.steps().size()),
      children_(program.steps().size()) {
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
    for (const auto& body : program.steps()[step].bodies) {
      children_[step].push_back(std::make_unique<Frame>(*body, context));
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
      context_.space(program_.slots()[i].event_space).api->event_destroy(slots_[i].event);
  }
}

void Frame::prepare_calls() {
  for (uint32_t i = 0; i < calls_.size(); ++i) {
    const Step& step = program_.steps()[i];
    StepCall& call = calls_[i];
    call.step = i;
    call.run = {this, &call};
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
    call.call.run = &call.run;
    call.call.stream = context_.stream(step.space);
  }
}

// ---- Slots
// --------------------------------------------------------------------------------------------------------------

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
  target.value.view.device = program_.slots()[slot].space;
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

void Frame::take_from(uint32_t slot, Slot& source) {
  if (program_.slots()[slot].output != kNoSlot && is_plain_tensor(source.get())) {
    const gantry_value& value = source.get();
    const gantry_tensor* target = allocate(slot, value.dtype, value.view.rank, value.view.shape);
    if (value.view.size_bytes > 0)
      std::memcpy(target->data, value.view.data, value.view.size_bytes);
  } else if (source.ref) {
    set_ref(slot, source.ref);
  } else if (source.block) {
    ++source.block->users;
    use_block(slot, source.block);
    const gantry_tensor& view = source.value.view;
    show(slot, source.value.dtype, view.rank, view.shape, view.data, view.size_bytes);
  } else {
    const gantry_tensor& view = source.value.view;
    const gantry_tensor* target = allocate(slot, source.value.dtype, view.rank, view.shape);
    if (view.size_bytes > 0) std::memcpy(target->data, view.data, view.size_bytes);
  }
}

void Frame::use_block(uint32_t slot, Block* block) {
  slots_[slot].block = block;
  dynamic_.push_back(slot);
}

Block* Frame::new_block(uint32_t space, uint64_t size_bytes) {
  Block* block = context_.pool(space).allocate(std::max<uint64_t>(size_bytes, 1));
  if (recorder_) {
    block->record = static_cast<int32_t>(recorder_->records.size());
    recorder_->records.push_back({space, size_bytes, step_, kOpen, 0});
  }
  return block;
}

void Frame::drop_block(Block* block) noexcept {
  const int32_t record = block->record;
  if (block->pool->release(block) && recorder_ && record >= 0)
    recorder_->records[static_cast<size_t>(record)].last = step_;
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

// ---- Requests
// -----------------------------------------------------------------------------------------------------------

gantry_tensor* Frame::request(StepCall& call, uint32_t index, DType dtype, uint32_t rank,
                              const int64_t* shape) {
  const Step& step = program_.steps()[call.step];
  if (index >= step.outputs.size() || step.outputs[index] == kNoSlot) [[unlikely]] {
    throw Error(Code::kInvalidArgument, step.label + ": provider \"" + step.provider +
                                            "\" asked for output slot " + std::to_string(index) +
                                            ", which is not there");
  }
  Slot& slot = slots_[step.outputs[index]];
  const gantry_tensor& view = slot.value.view;
  if (slot.is_planned && !slot.is_set && view.dtype == static_cast<uint32_t>(dtype) &&
      view.rank == rank && std::equal(shape, shape + rank, view.shape)) [[likely]] {
    slot.is_set = true;
    return &slot.value.view;
  }
  return request_slow(call, index, step.outputs[index], dtype, rank, shape);
}

gantry_tensor* Frame::request_slow(StepCall& call, uint32_t index, uint32_t slot_index, DType dtype,
                                   uint32_t rank, const int64_t* shape) {
  const Step& step = program_.steps()[call.step];
  const SlotInfo& info = program_.slots()[slot_index];
  const auto where = [&] { return step.label + ": output \"" + info.name + "\""; };
  if (dtype == DType::kString || bits_of(dtype) == 0) {
    throw Error(Code::kInvalidArgument,
                where() + " was asked for with element type " + std::string(to_string(dtype)) +
                    "; only fixed-size types have memory, others are handed over as values");
  }
  if (info.type->kind == Kind::kTensor && info.type->dtype != DType::kUndefined &&
      info.type->dtype != dtype) {
    throw Error(Code::kInvalidArgument, where() + " was asked for as " +
                                            std::string(to_string(dtype)) + ", the model says " +
                                            std::string(to_string(info.type->dtype)));
  }
  if (info.type->kind == Kind::kTensor && info.type->has_rank && info.type->shape.size() != rank) {
    throw Error(Code::kInvalidArgument, where() + " was asked for with rank " +
                                            std::to_string(rank) + ", the model says " +
                                            std::to_string(info.type->shape.size()));
  }
  Slot& slot = slots_[slot_index];
  if (slot.is_set) throw Error(Code::kInvalidArgument, where() + " was asked for twice in one run");
  if (slot.is_planned) {
    slot.is_planned = false;
    has_diverged_ = true;
  }
  if (slot.block || slot.ref) release(slot_index);
  if (info.output != kNoSlot) return request_output(slot_index, dtype, rank, shape);
  const uint64_t size_bytes = bytes_of(dtype, element_count({shape, rank}));
  if (reuse_input(step, index, slot_index, dtype, size_bytes)) {
    show(slot_index, dtype, rank, shape, slot.value.view.data, size_bytes);
  } else {
    Block* block = new_block(info.space, size_bytes);
    use_block(slot_index, block);
    show(slot_index, dtype, rank, shape, block->data, size_bytes);
    note_slot(slot_index, PlannedSlot::Kind::kArena, block->record, kNoSlot);
  }
  return &slot.value.view;
}

// A value that leaves the session: the caller's memory, or new memory that the caller will own.
gantry_tensor* Frame::request_output(uint32_t slot_index, DType dtype, uint32_t rank,
                                     const int64_t* shape) {
  const SlotInfo& info = program_.slots()[slot_index];
  const ValueRef& bound = context_.bound_outputs[info.output];
  if (!bound) {
    set_ref(slot_index, make_tensor(dtype, std::vector<int64_t>(shape, shape + rank)));
  } else {
    if (bound->dtype != dtype || bound->shape.size() != rank ||
        !std::equal(shape, shape + rank, bound->shape.begin())) {
      throw Error(Code::kInvalidArgument,
                  "output \"" + info.name + "\": the bound tensor is " + gantry::describe(*bound) +
                      ", this run makes " +
                      gantry::describe(dtype, std::vector<int64_t>(shape, shape + rank)));
    }
    set_ref(slot_index, bound);
  }
  return &slots_[slot_index].ref->view;
}

// Lets an output use an input's memory where its port allows and the input's lifetime grants it.
// Leaves the address in the target's view.
bool Frame::reuse_input(const Step& step, uint32_t index, uint32_t target, DType dtype,
                        uint64_t size_bytes) {
  const Port& port = step.output_ports[index];
  const auto candidate = [&](uint32_t input) -> Slot* {
    if (input >= step.inputs.size() || step.inputs[input] == kNoSlot) return nullptr;
    Slot& slot = slots_[step.inputs[input]];
    const bool fits = !slot.ref && slot.value.view.size_bytes == size_bytes &&
                      program_.slots()[step.inputs[input]].space == program_.slots()[target].space;
    return fits ? &slot : nullptr;
  };
  const auto share = [&](Slot& source) {
    ++source.block->users;
    use_block(target, source.block);
    slots_[target].value.view.data = source.value.view.data;
    note_slot(target, PlannedSlot::Kind::kArena, source.block->record, kNoSlot);
    return true;
  };
  if (Slot* source = candidate(port.repeats)) {
    if (source->block) return share(*source);
    if (!source->is_planned) {
      slots_[target].value.view.data = source->value.view.data;
      note_slot(target, PlannedSlot::Kind::kRepeats, -1, step.inputs[port.repeats]);
      return true;
    }
  }
  for (uint32_t input = 0; input < step.inputs.size() && input < 64; ++input) {
    if (!(port.overwrites >> input & 1) || !step.ends_here[input]) continue;
    Slot* source = candidate(input);
    // Element by element: six 8-byte numbers that are broadcast are not 48 booleans.
    const bool fits = source && bits_of(source->value.dtype) == bits_of(dtype);
    if (fits && source->block && source->block->users == 1) return share(*source);
  }
  return false;
}

void Frame::note_slot(uint32_t slot, PlannedSlot::Kind kind, int32_t record, uint32_t source) {
  if (!recorder_) return;
  PlannedSlot& planned = recorder_->slots[slot];
  planned.kind =
      kind == PlannedSlot::Kind::kArena && record < 0 ? PlannedSlot::Kind::kDynamic : kind;
  planned.record = record;
  planned.source = source;
}

gantry_tensor* Frame::allocate(uint32_t slot, DType dtype, uint32_t rank, const int64_t* shape) {
  if (slots_[slot].block || slots_[slot].ref) release(slot);
  if (program_.slots()[slot].output != kNoSlot) return request_output(slot, dtype, rank, shape);
  const uint64_t size_bytes = bytes_of(dtype, element_count({shape, rank}));
  Block* block =
      context_.pool(program_.slots()[slot].space).allocate(std::max<uint64_t>(size_bytes, 1));
  use_block(slot, block);
  show(slot, dtype, rank, shape, block->data, size_bytes);
  return &slots_[slot].value.view;
}

void Frame::shrink(uint32_t slot, const int64_t* shape) {
  Slot& target = slots_[slot];
  const gantry_value& value = target.get();
  for (uint32_t i = 0; i < value.view.rank; ++i) {
    if (shape[i] < 0 || shape[i] > value.view.shape[i]) {
      throw Error(Code::kInvalidArgument, "output \"" + program_.slots()[slot].name +
                                              "\" was asked for as " + gantry::describe(value) +
                                              " and cannot become larger on axis " +
                                              std::to_string(i));
    }
  }
  std::vector<int64_t> extents(shape, shape + value.view.rank);
  const uint64_t size_bytes = bytes_of(value.dtype, element_count(extents));
  if (target.ref) {  // memory that leaves the session: the caller gets a tensor of the right size
    set_ref(slot,
            view_tensor(value.dtype, std::move(extents), value.view.data, size_bytes, target.ref));
  } else {
    has_diverged_ = has_diverged_ || target.is_planned;
    target.is_planned = false;
    show(slot, value.dtype, value.view.rank, extents.data(), value.view.data, size_bytes);
    note_slot(slot, PlannedSlot::Kind::kDynamic, -1, kNoSlot);
  }
}

void* Frame::request_scratch(StepCall& call, uint32_t space, uint64_t size_bytes) {
  const uint32_t number = call.scratch_next++;
  if (plan_ && number < plan_->scratch[call.step].size()) {
    const PlannedScratch& planned = plan_->scratch[call.step][number];
    if (planned.space == space && size_bytes <= planned.size_bytes) {
      return context_.arena(space).reserve(0) +
             plan_->records[static_cast<size_t>(planned.record)].offset;
    }
  }
  Block* block = new_block(space, size_bytes);
  call.scratch.push_back(block);
  if (recorder_) recorder_->scratch[call.step].push_back({block->record, space, size_bytes});
  return block->data;
}

// ---- Plans
// --------------------------------------------------------------------------------------------------------------

void Frame::bind(const MemoryPlan* plan) {
  plan_ = plan;
  has_diverged_ = false;
  moving_.clear();
  for (Slot& slot : slots_) slot.is_planned = false;
  if (!plan) return;
  for (uint32_t space = 0; space < plan->arena_bytes.size(); ++space) {
    context_.arena(space).reserve(plan->arena_bytes[space]);
  }
  const auto bind_slot = [&](uint32_t i) {
    const PlannedSlot& planned = plan->slots[i];
    if (planned.kind == PlannedSlot::Kind::kDynamic) return;
    std::byte* data = nullptr;
    if (planned.kind == PlannedSlot::Kind::kArena) {
      data = context_.arena(program_.slots()[i].space).reserve(0) +
             plan->records[static_cast<size_t>(planned.record)].offset;
    } else {
      moving_.push_back(i);
    }
    show(i, planned.dtype, static_cast<uint32_t>(planned.shape.size()), planned.shape.data(), data,
         planned.size_bytes);
    slots_[i].is_planned = true;
  };
  for (const Step& step : program_.steps()) {
    for (const uint32_t slot : step.outputs) {
      if (slot != kNoSlot) bind_slot(slot);
    }
  }
}

void Frame::rebind() {
  for (const uint32_t slot : moving_)
    slots_[slot].value.view.data = slots_[plan_->slots[slot].source].value.view.data;
}

std::shared_ptr<const MemoryPlan> Frame::make_plan(Recorder& recorder, Signature signature) const {
  auto plan = std::make_shared<MemoryPlan>();
  plan->signature = std::move(signature);
  plan->records = std::move(recorder.records);
  const auto last = static_cast<uint32_t>(program_.steps().size());
  for (MemoryRecord& record : plan->records) {
    if (record.last == kOpen) record.last = last;
  }
  plan->arena_bytes = pack(plan->records, context_.space_count());
  plan->scratch = std::move(recorder.scratch);
  plan->slots = std::move(recorder.slots);
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    PlannedSlot& planned = plan->slots[i];
    if (planned.kind == PlannedSlot::Kind::kDynamic) continue;
    planned.dtype = slots_[i].value.dtype;
    planned.shape = slots_[i].value.shape;
    planned.size_bytes = slots_[i].value.view.size_bytes;
  }
  return plan;
}

// ---- Running
// ------------------------------------------------------------------------------------------------------------

void Frame::run() {
  const std::vector<Step>& steps = program_.steps();
  const bool profile = context_.profile;
  for (step_ = 0; step_ < steps.size(); ++step_) {
    if (const Code code = context_.stop_code(); code != Code::kOk) [[unlikely]] {
      throw stop_error(code);
    }
    const Step& step = steps[step_];
    if (captures_ && step.stretch > 0 && run_stretch(step)) continue;
    StepCall& call = calls_[step_];
    for (const uint32_t slot : step.waits) {
      if (slots_[slot].event)
        context_.wait(program_.slots()[slot].event_space, slots_[slot].event, step.label);
    }
    const auto start =
        profile ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    switch (step.kind) {
      case StepKind::kKernel:
        run_kernel(step, call);
        break;
      case StepKind::kCopy:
        run_copy(step, call);
        break;
      case StepKind::kControlFlow:
        run_control_flow(*this, step_);
        break;
    }
    if (profile) {
      call.total_ns += static_cast<uint64_t>((std::chrono::steady_clock::now() - start).count());
      ++call.runs;
    }
    finish_step(step, call);
  }
}

void Frame::run_kernel(const Step& step, StepCall& call) {
  for (const uint32_t slot : step.outputs) {
    if (slot != kNoSlot) slots_[slot].is_set = false;
  }
  const gantry_kernel& kernel = step.kernel.raw();
  context_.mark->store(step.mark, std::memory_order_relaxed);
  gantry_error* error =
      contain([&] { return kernel.run(kernel.self, call.kernel_context, &call.call); });
  if (error) [[unlikely]] {
    const bool is_named = message_of(error).find(step.node) != std::string_view::npos;
    context_.space(step.space).check(error, is_named ? std::string() : step.label);
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
  const gantry_tensor& source = slots_[step.inputs[0]].get().view;
  const bool to_host = program_.slots()[step.outputs[0]].space == 0;
  slots_[step.outputs[0]].is_set = false;
  const gantry_tensor* target =
      request(call, 0, static_cast<DType>(source.dtype), source.rank, source.shape);
  if (source.size_bytes == 0) return;
  const gantry_copy copy = {
      sizeof(copy),
      static_cast<uint32_t>(to_host ? GANTRY_COPY_DEVICE_TO_HOST : GANTRY_COPY_HOST_TO_DEVICE),
      target->data,
      source.data,
      1,
      source.size_bytes,
      source.size_bytes,
      source.size_bytes};
  const MemorySpace& space = context_.space(step.space);
  space.check(space.api->copy(context_.stream(step.space), &copy), step.label);
}

void Frame::finish_step(const Step& step, StepCall& call) {
  if (step.space != 0) {
    for (const uint32_t slot : step.outputs) {
      if (slot == kNoSlot || program_.slots()[slot].event_space == 0) continue;
      const MemorySpace& space = context_.space(step.space);
      if (!slots_[slot].event)
        space.check(space.api->event_create(space.device, &slots_[slot].event), step.label);
      space.check(space.api->event_record(slots_[slot].event, context_.stream(step.space)),
                  step.label);
    }
  }
  call.scratch_next = 0;
  if (!call.scratch.empty()) release_scratch(step, call);
  release_ended(step);
}

void Frame::release_ended(const Step& step) noexcept {
  if (dynamic_.empty()) return;
  for (const uint32_t slot : step.releases) release(slot);
}

// The device's own memory is reused in the order of its stream; host memory it
// may still be reading or writing, until the run ends.
void Frame::release_scratch(const Step& step, StepCall& call) noexcept {
  const auto is_over = [&](Block* block) {
    if (step.space != 0 && block->pool == &context_.pool(0)) return false;
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
    context_.wait(info.event_space, slot.event, "output \"" + info.name + "\" of a body");
  }
}

void clear_slot(Slot& slot) noexcept {
  if (slot.block) slot.block->pool->release(slot.block);
  slot.block = nullptr;
  slot.ref.reset();
  slot.is_set = false;
}

}  // namespace gantry

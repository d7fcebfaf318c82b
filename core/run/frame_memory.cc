// SPDX-License-Identifier: Apache-2.0
// The memory that the steps of a frame request: from the plan, over an input, or from a pool; and
// the plan made from the requests of the first run of a signature.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "plugin/isolation/shared_tensor.h"
#include "program/formats.h"
#include "run/frame.h"
#include "run/resident.h"
#include "run/run_resources.h"

namespace gantry {
namespace {

// MemoryRecord::last of memory that was not released before the end of the recorded run.
constexpr uint32_t kOpen = UINT32_MAX;

}  // namespace

Block* Frame::new_block(uint32_t memory, uint64_t size_bytes) {
  Block* block = resources_.pool(memory).allocate(std::max<uint64_t>(size_bytes, 1));
  if (recorder_) {
    block->record = static_cast<int32_t>(recorder_->records.size());
    recorder_->records.push_back({memory, size_bytes, step_, kOpen, 0});
  }
  return block;
}

void Frame::drop_block(Block* block) noexcept {
  const int32_t record = block->record;
  if (block->pool->release(block) && recorder_ && record >= 0)
    recorder_->records[static_cast<size_t>(record)].last = step_;
}

// Requests.

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

void Frame::expect_bound_shape(uint32_t slot, const gantry_value& bound, DType dtype, uint32_t rank,
                               const int64_t* shape) const {
  if (bound.dtype == dtype && bound.shape.size() == rank &&
      std::equal(shape, shape + rank, bound.shape.begin()))
    return;
  throw Error(Code::kInvalidArgument,
              "output \"" + program_.slots()[slot].name + "\": the bound tensor is " +
                  gantry::describe(bound) + ", this run makes " +
                  gantry::describe(dtype, std::vector<int64_t>(shape, shape + rank)));
}

// True if a copy step has nothing to do: its input is on the device already, or the device has made
// the output in the caller's memory.
bool Frame::takes_resident(const Step& step) {
  Slot& source = slots_[step.inputs[0]];
  Slot& target = slots_[step.outputs[0]];
  if (source.is_resident) {
    const gantry_value& value = source.value;
    if (!target.is_planned) {
      show(step.outputs[0], value.dtype, value.view.rank, value.view.shape, value.view.data,
           value.view.size_bytes);
      note_slot(step.outputs[0], PlannedSlot::Kind::kResident, -1, kNoSlot);
    }
    target.is_set = true;
    return true;
  }
  const uint32_t output = program_.slots()[step.inputs[0]].resident_output;
  if (output == kNoSlot || !resources_.bound_outputs[output] ||
      !resources_.bound_outputs[output]->device)
    return false;
  const gantry_tensor& made = source.get().view;
  if (resources_.is_on_device(output)) narrow_on_device(output, made);
  expect_bound_shape(step.outputs[0], *resources_.bound_outputs[output],
                     static_cast<DType>(made.dtype), made.rank, made.shape);
  set_ref(step.outputs[0], resources_.bound_outputs[output]);
  return true;
}

// Gives an output that a kernel requested with an upper bound its final shape.
void Frame::narrow_on_device(uint32_t output, const gantry_tensor& made) {
  ValueRef& bound = resources_.bound_outputs[output];
  if (std::equal(bound->shape.begin(), bound->shape.end(), made.shape, made.shape + made.rank))
    return;
  ValueRef narrow =
      view_tensor(bound->dtype, std::vector<int64_t>(made.shape, made.shape + made.rank),
                  bound->view.data, made.size_bytes, bound->owner);
  narrow->device = bound->device;
  bound = std::move(narrow);
  resources_.has_made_on_device = true;
}

// The caller's device memory for a slot, or memory of the device that the caller will own. Null:
// the slot is no output that stays on its device.
gantry_tensor* Frame::request_resident(uint32_t slot, DType dtype, uint32_t rank,
                                       const int64_t* shape) {
  const uint32_t output = program_.slots()[slot].resident_output;
  if (output == kNoSlot) return nullptr;
  ValueRef& bound = resources_.bound_outputs[output];
  if (resources_.is_on_device(output) &&
      (!bound || bound->dtype != dtype ||
       !std::equal(bound->shape.begin(), bound->shape.end(), shape, shape + rank))) {
    bound = make_resident(resources_.shared_devices, program_.slots()[slot].space, dtype,
                          std::vector<int64_t>(shape, shape + rank));
    resources_.has_made_on_device = true;
  }
  if (!bound || !bound->device) return nullptr;
  expect_bound_shape(slot, *bound, dtype, rank, shape);
  show(slot, dtype, rank, shape, bound->view.data, bound->view.size_bytes);
  note_slot(slot, PlannedSlot::Kind::kResident, -1, kNoSlot);
  return &slots_[slot].value.view;
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
    const std::string model_says = ", the model says " + std::to_string(info.type->shape.size());
    if (!info.type->is_declared_only) {
      throw Error(Code::kInvalidArgument,
                  where() + " was asked for with rank " + std::to_string(rank) + model_says);
    }
    if (!std::exchange(resources_.has_told_of_rank, true)) {
      log(LogLevel::kWarning, where() + " has rank " + std::to_string(rank) + model_says +
                                  ", which is wrong; it is handed out as it is");
    }
  }
  Slot& slot = slots_[slot_index];
  if (slot.is_set) throw Error(Code::kInvalidArgument, where() + " was asked for twice in one run");
  if (slot.is_planned) {
    slot.is_planned = false;
    has_diverged_ = true;
  }
  if (slot.block || slot.ref) release(slot_index);
  if (gantry_tensor* elsewhere = request_delivered(slot_index, dtype, rank, shape))
    return elsewhere;
  if (info.output != kNoSlot) return request_output(slot_index, dtype, rank, shape);
  if (gantry_tensor* there = request_resident(slot_index, dtype, rank, shape)) return there;
  const uint64_t size_bytes = bytes_of(dtype, element_count({shape, rank}));
  if (reuse_input(step, index, slot_index, dtype, size_bytes)) {
    show(slot_index, dtype, rank, shape, slot.value.view.data, size_bytes);
  } else {
    Block* block = new_block(resources_.memory_of(info), size_bytes);
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
  const ValueRef& bound = resources_.bound_outputs[info.output];
  if (!bound) {
    resources_.made_output_bytes += bytes_of(dtype, element_count({shape, rank}));
    resources_.space(0).require_room(resources_.made_output_bytes);
    const MakeOutput* make = resources_.make_output;
    std::vector<int64_t> extents(shape, shape + rank);
    set_ref(slot_index, make ? (*make)(dtype, extents)
                        : info.shared_region != 0
                            ? make_tensor_in(resources_.shared_region(info.shared_region).shared(),
                                             dtype, std::move(extents))
                            : make_tensor(dtype, std::move(extents)));
  } else {
    expect_bound_shape(slot_index, *bound, dtype, rank, shape);
    set_ref(slot_index, bound);
  }
  return &slots_[slot_index].ref->view;
}

const gantry_tensor* Frame::bound_output(const StepCall& call, uint32_t index) const {
  const Step& step = program_.steps()[call.step];
  if (index >= step.outputs.size() || step.outputs[index] == kNoSlot) return nullptr;
  const uint32_t output = program_.slots()[step.outputs[index]].output;
  const bool is_bound = output != kNoSlot && resources_.bound_outputs[output];
  return is_bound ? &resources_.bound_outputs[output]->view : nullptr;
}

// Gives an output the memory of an input if its port allows it and the input is not read later.
// Stores the address in the target's view.
bool Frame::reuse_input(const Step& step, uint32_t index, uint32_t target, DType dtype,
                        uint64_t size_bytes) {
  const Port& port = step.output_ports[index];
  slots_[target].shows_output = false;
  const auto candidate = [&](uint32_t input) -> Slot* {
    if (input >= step.inputs.size() || step.inputs[input] == kNoSlot) return nullptr;
    Slot& slot = slots_[step.inputs[input]];
    const SlotInfo& from = program_.slots()[step.inputs[input]];
    const SlotInfo& to = program_.slots()[target];
    const bool is_same_order =
        from.format && to.format ? is_same(*from.format, *to.format) : !from.format && !to.format;
    const bool fits = slot.get().view.size_bytes == size_bytes && from.space == to.space &&
                      from.shared_region == to.shared_region && is_same_order;
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
    if (leaves_session(step.inputs[port.repeats])) {
      // The source has other memory in each run, so this output has too, and is in no plan.
      slots_[target].value.view.data = source->get().view.data;
      slots_[target].shows_output = true;
      return true;
    }
    if (source->block) return share(*source);
    if (!source->ref && !source->is_planned) {
      slots_[target].value.view.data = source->value.view.data;
      note_slot(target, PlannedSlot::Kind::kRepeats, -1, step.inputs[port.repeats]);
      return true;
    }
  }
  for (uint32_t input = 0; input < step.inputs.size() && input < 64; ++input) {
    if (!(port.overwrites >> input & 1) || !step.ends_here[input]) continue;
    Slot* source = candidate(input);
    // Elements must have equal sizes: 6 int64 that are broadcast have as many bytes as 48 booleans.
    const bool fits = source && bits_of(source->get().dtype) == bits_of(dtype);
    if (fits && source->block && source->block->users == 1) return share(*source);
  }
  return false;
}

// True of a slot whose host memory the caller will own, so that it outlives the run. Not of device
// memory shared with the caller: captures hold its address, so it is in the plan.
bool Frame::leaves_session(uint32_t index) const {
  const Slot& slot = slots_[index];
  const SlotInfo& info = program_.slots()[index];
  if (info.space != 0 || slot.block) return false;
  return slot.ref ? info.output != kNoSlot && slot.ref->kind == GANTRY_KIND_TENSOR
                  : slot.shows_output;
}

void Frame::note_slot(uint32_t slot, PlannedSlot::Kind kind, int32_t record, uint32_t source) {
  if (!recorder_) return;
  PlannedSlot& planned = recorder_->slots[slot];
  planned.kind =
      kind == PlannedSlot::Kind::kArena && record < 0 ? PlannedSlot::Kind::kDynamic : kind;
  planned.record = record;
  planned.source = source;
  planned.data = slots_[slot].value.view.data;
}

gantry_tensor* Frame::allocate(uint32_t slot, DType dtype, uint32_t rank, const int64_t* shape) {
  if (slots_[slot].block || slots_[slot].ref) release(slot);
  if (gantry_tensor* elsewhere = request_delivered(slot, dtype, rank, shape)) return elsewhere;
  if (program_.slots()[slot].output != kNoSlot) return request_output(slot, dtype, rank, shape);
  const uint64_t size_bytes = bytes_of(dtype, element_count({shape, rank}));
  Block* block = resources_.pool(resources_.memory_of(program_.slots()[slot]))
                     .allocate(std::max<uint64_t>(size_bytes, 1));
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
  if (target.ref) {  // leaves the session: the caller receives a tensor of the final shape
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
      return resources_.arena(space).data() +
             plan_->records[static_cast<size_t>(planned.record)].offset;
    }
  }
  Block* block = new_block(space, size_bytes);
  call.scratch.push_back(block);
  if (recorder_) recorder_->scratch[call.step].push_back({block->record, space, size_bytes});
  return block->data;
}

// Plans.

void Frame::bind(const MemoryPlan* plan) {
  plan_ = plan;
  has_diverged_ = false;
  moving_.clear();
  for (Slot& slot : slots_) {
    slot.is_planned = false;
    slot.shows_output = false;
  }
  if (!plan) {
    for (uint32_t memory = 0; memory < resources_.memory_count(); ++memory)
      resources_.arena(memory).start_lending();
    return;
  }
  for (uint32_t memory = 0; memory < plan->arena_bytes.size(); ++memory) {
    resources_.arena(memory).reserve(plan->arena_bytes[memory]);
  }
  const auto bind_slot = [&](uint32_t i) {
    const PlannedSlot& planned = plan->slots[i];
    if (planned.kind == PlannedSlot::Kind::kDynamic) return;
    std::byte* data = nullptr;
    if (planned.kind == PlannedSlot::Kind::kArena) {
      data = resources_.arena(resources_.memory_of(program_.slots()[i])).data() +
             plan->records[static_cast<size_t>(planned.record)].offset;
    } else if (planned.kind == PlannedSlot::Kind::kResident) {
      data = static_cast<std::byte*>(planned.data);
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
  plan->arena_bytes = pack(plan->records, resources_.memory_count());
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

}  // namespace gantry

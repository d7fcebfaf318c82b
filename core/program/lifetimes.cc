// SPDX-License-Identifier: Apache-2.0
#include "program/lifetimes.h"

#include <algorithm>

#include "base/assert.h"

namespace gantry {
namespace {

// True of a kernel whose work is the same in every run of a plan: its device supports captures, it
// waits for nothing, and in host memory it reads only constants and writes nothing.
bool is_capturable(const Step& step, const std::vector<SlotInfo>& slots,
                   const DeviceTable& devices) {
  if (step.kind != StepKind::kKernel || step.space == 0 || !devices.can_capture(step.space) ||
      !step.waits.empty() || (step.kernel.raw().flags & GANTRY_KERNEL_NO_CAPTURE))
    return false;
  const auto is_there = [&](uint32_t slot) {
    return slot == kNoSlot || slots[slot].space == step.space || slots[slot].constant;
  };
  return std::all_of(step.inputs.begin(), step.inputs.end(), is_there) &&
         std::all_of(step.outputs.begin(), step.outputs.end(), is_there);
}

// True if every step reads only slots without a producer or of an earlier step, and no slot is
// written twice.
[[maybe_unused]] bool are_in_order(const std::vector<Step>& steps, size_t slot_count) {
  std::vector<uint8_t> is_made_later(slot_count, 0);
  for (const Step& step : steps) {
    for (const uint32_t slot : step.outputs) {
      if (slot != kNoSlot && is_made_later[slot]++ != 0) return false;
    }
  }
  for (const Step& step : steps) {
    for (const uint32_t slot : step.inputs) {
      if (slot != kNoSlot && is_made_later[slot]) return false;
    }
    for (const uint32_t slot : step.outputs) {
      if (slot != kNoSlot) is_made_later[slot] = 0;
    }
  }
  return true;
}

}  // namespace

void find_lifetimes(std::vector<Step>& steps, const std::vector<SlotInfo>& slots,
                    const std::vector<OutputSource>& outputs) {
  GANTRY_ASSERT(are_in_order(steps, slots.size()), "a step reads what was made before it");
  std::vector<uint32_t> last(slots.size(), kNoSlot);
  std::vector<uint8_t> kept(slots.size(), 0);
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    for (const uint32_t slot : step.inputs) {
      if (slot == kNoSlot) continue;
      last[slot] = i;
      // A device may read host memory, or memory of another device, long after the step was issued,
      // so that memory is not released before the run ends.
      if (step.space != 0 && slots[slot].space != step.space) kept[slot] = 1;
    }
    for (const uint32_t slot : step.outputs) {
      if (slot == kNoSlot) continue;
      last[slot] = i;
      if (slots[slot].event_space != 0) kept[slot] = 1;
    }
  }
  for (const OutputSource& output : outputs) kept[output.slot] = 1;
  for (uint32_t slot = 0; slot < last.size(); ++slot) {
    if (last[slot] != kNoSlot && !kept[slot] && !slots[slot].constant) {
      steps[last[slot]].releases.push_back(slot);
    }
  }
  std::vector<uint8_t> waited(slots.size(), 0);
  for (Step& step : steps) {
    for (const uint32_t slot : step.inputs) {
      const bool ends = slot != kNoSlot && std::find(step.releases.begin(), step.releases.end(),
                                                     slot) != step.releases.end();
      step.ends_here.push_back(ends ? 1 : 0);
      // Steps on the device that wrote the slot are ordered by its stream; other steps need a wait
      // on the host.
      if (slot == kNoSlot || slots[slot].event_space == 0 || waited[slot]) continue;
      step.waits.push_back(slot);
      waited[slot] = 1;
    }
  }
}

void find_residents(const std::vector<Step>& steps, const std::vector<uint32_t>& inputs,
                    const std::vector<OutputSource>& outputs, std::vector<SlotInfo>& slots,
                    std::vector<uint32_t>& resident_inputs,
                    std::vector<uint32_t>& resident_outputs) {
  std::vector<uint32_t> reads(slots.size(), 0);
  std::vector<const Step*> reader(slots.size(), nullptr);
  std::vector<const Step*> maker(slots.size(), nullptr);
  for (const Step& step : steps) {
    for (const uint32_t slot : step.inputs) {
      if (slot == kNoSlot) continue;
      ++reads[slot];
      reader[slot] = &step;
    }
    for (const uint32_t slot : step.outputs) {
      if (slot != kNoSlot) maker[slot] = &step;
    }
  }
  for (const OutputSource& output : outputs) ++reads[output.slot];
  for (size_t i = 0; i < inputs.size(); ++i) {
    const uint32_t slot = inputs[i];
    if (slot == kNoSlot || reads[slot] != 1 || !reader[slot]) continue;
    if (reader[slot]->kind == StepKind::kCopy) resident_inputs[i] = reader[slot]->space;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Step* copy = maker[outputs[i].slot];
    if (!outputs[i].direct || reads[outputs[i].slot] != 1 || !copy || copy->kind != StepKind::kCopy)
      continue;
    const uint32_t made = copy->inputs[0];
    const Step* kernel = maker[made];
    // A reorder requests its output as a kernel does.
    if (!kernel || kernel->kind == StepKind::kCopy || kernel->space != slots[made].space) continue;
    slots[made].resident_output = static_cast<uint32_t>(i);
    resident_outputs[i] = slots[made].space;
  }
}

bool find_capturable_segments(std::vector<Step>& steps, const std::vector<SlotInfo>& slots,
                              const DeviceTable& devices) {
  bool has_any = false;
  for (size_t first = 0; first < steps.size();) {
    size_t end = first;
    while (end < steps.size() && is_capturable(steps[end], slots, devices) &&
           steps[end].space == steps[first].space)
      ++end;
    if (end - first > 1) {
      steps[first].capturable_steps = static_cast<uint32_t>(end - first);
      has_any = true;
    }
    first = std::max(end, first + 1);
  }
  return has_any;
}

}  // namespace gantry

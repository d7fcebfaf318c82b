// SPDX-License-Identifier: Apache-2.0
#include "program/shared_regions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "plugin/isolation/isolated_provider.h"
#include "plugin/isolation/shared_tensor.h"

namespace gantry {
namespace {

// True of types that may hold indices or sizes, which a worker process must not be able to change,
// and of tensors too small to share.
bool stays_private(const TypeInfo& type) {
  if (may_hold_indices(type.dtype)) return true;
  const bool is_known = type.has_rank && std::all_of(type.shape.begin(), type.shape.end(),
                                                     [](int64_t extent) { return extent >= 0; });
  return is_known && bits_of(type.dtype) != 0 &&
         bytes_of(type.dtype, element_count(type.shape)) < kLeastSharedBytes;
}

void set_shared_region(std::vector<SlotInfo>& slots, uint32_t slot, uint32_t shared_region) {
  if (slot == kNoSlot) return;
  SlotInfo& info = slots[slot];
  if (info.type && stays_private(*info.type)) return;
  if (info.space == 0 && info.shared_region == 0 && !info.constant)
    info.shared_region = shared_region;
}

// An output that shares its input's memory puts that input into the same region.
void follow_repeats(const std::vector<Step>& steps, std::vector<SlotInfo>& slots) {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    for (size_t i = 0; i < step->outputs.size() && i < step->output_ports.size(); ++i) {
      const uint32_t from = step->output_ports[i].repeats;
      if (step->outputs[i] == kNoSlot || from >= step->inputs.size()) continue;
      if (const uint32_t shared_region = slots[step->outputs[i]].shared_region)
        set_shared_region(slots, step->inputs[from], shared_region);
    }
  }
}

}  // namespace

void assign_shared_regions(const std::vector<Step>& steps, const std::vector<OutputSource>& outputs,
                           DeviceTable& devices, std::vector<SlotInfo>& slots) {
  uint32_t of_session = 0;
  for (const Step& step : steps) {
    const IsolatedProvider* isolated = step.owner ? step.owner->isolated() : nullptr;
    if (!isolated) continue;
    const uint32_t shared_region = devices.shared_region_of(isolated->arena());
    if (of_session == 0) of_session = shared_region;
    for (const uint32_t slot : step.inputs) set_shared_region(slots, slot, shared_region);
    for (const uint32_t slot : step.outputs) {
      if (slot != kNoSlot && slots[slot].output != kNoSlot)
        set_shared_region(slots, slot, shared_region);
    }
  }
  if (of_session == 0) return;
  for (const OutputSource& output : outputs) set_shared_region(slots, output.slot, of_session);
  follow_repeats(steps, slots);
}

}  // namespace gantry

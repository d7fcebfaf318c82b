// SPDX-License-Identifier: Apache-2.0
// How the outputs of a body's frame come into the enclosing frame. A tensor that leaves the session
// is made in its final memory; other values share their block or reference, or are copied.
#include <algorithm>
#include <cstring>

#include "run/frame.h"
#include "run/run_resources.h"

namespace gantry {

Frame::Delivery* Frame::find_delivery(uint32_t slot) {
  const auto found = std::find_if(deliveries_.begin(), deliveries_.end(),
                                  [&](const Delivery& delivery) { return delivery.slot == slot; });
  return found == deliveries_.end() ? nullptr : &*found;
}

void Frame::deliver(uint32_t slot, Frame& outer, uint32_t outer_slot) {
  const bool leaves =
      outer.program_.slots()[outer_slot].output != kNoSlot || outer.find_delivery(outer_slot);
  // A value in shared memory must stay where the worker process sees it.
  if (leaves && program_.slots()[slot].shared_region == 0 && !find_delivery(slot))
    deliveries_.push_back({slot, &outer, outer_slot});
}

// False: the caller's tensor has another shape. A kernel may request an upper bound, larger than
// the final shape.
bool Frame::takes_delivery(uint32_t slot, DType dtype, uint32_t rank, const int64_t* shape) const {
  const uint32_t output = program_.slots()[slot].output;
  if (output == kNoSlot) return true;
  const ValueRef& bound = resources_.bound_outputs[output];
  return !bound || (bound->dtype == dtype && bound->shape.size() == rank &&
                    std::equal(shape, shape + rank, bound->shape.begin()));
}

gantry_tensor* Frame::request_delivered(uint32_t slot_index, DType dtype, uint32_t rank,
                                        const int64_t* shape) {
  Delivery* delivery = find_delivery(slot_index);
  if (!delivery) return nullptr;
  Frame& outer = *delivery->outer;
  if (!outer.takes_delivery(delivery->outer_slot, dtype, rank, shape)) return nullptr;
  const gantry_tensor* target = outer.allocate(delivery->outer_slot, dtype, rank, shape);
  delivery->is_made = true;
  show(slot_index, dtype, rank, shape, target->data, target->size_bytes);
  return &slots_[slot_index].value.view;
}

void Frame::take_output(uint32_t slot, Frame& body, uint32_t body_slot) {
  Slot& source = body.slots_[body_slot];
  const Delivery* delivery = body.find_delivery(body_slot);
  const bool is_here = delivery && delivery->is_made && delivery->outer_slot == slot && !source.ref;
  if (!is_here) return take_from(slot, source);
  const gantry_value& value = source.value;
  if (slots_[slot].get().shape != value.shape) shrink(slot, value.view.shape);
}

void Frame::take_from(uint32_t slot, Slot& source) {
  const gantry_value& held = source.get();
  const bool is_copied = held.kind == GANTRY_KIND_TENSOR && held.dtype != DType::kString;
  if ((program_.slots()[slot].output != kNoSlot || find_delivery(slot)) && is_copied) {
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

}  // namespace gantry

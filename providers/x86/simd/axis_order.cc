// SPDX-License-Identifier: Apache-2.0
#include "simd/axis_order.h"

#include <utility>

#include "simd/transpose.h"

namespace gantry::x86 {
namespace {

template <class T>
void exchange(sdk::Call& call, const Matrices& matrices, const void* source, void* target) {
  call.parallel_for(matrices.blocks(), matrices.grain(), [&](int64_t begin, int64_t end) {
    transpose(matrices, static_cast<const T*>(source), static_cast<T*>(target), begin, end);
  });
}

}  // namespace

bool has_one_order(const sdk::Shape& shape) {
  return shape.rank < 3 || shape[1] == 1 || shape.count(2, shape.rank) == 1;
}

void exchange_order(sdk::Call& call, const sdk::Shape& shape, AxisOrder from, size_t element_bytes,
                    const void* source, void* target) {
  Matrices matrices{shape[0], shape[1], shape.count(2, shape.rank)};
  if (from == AxisOrder::kChannelsLast) std::swap(matrices.rows, matrices.columns);
  if (element_bytes == 1) {
    exchange<uint8_t>(call, matrices, source, target);
  } else {
    exchange<float>(call, matrices, source, target);
  }
}

const void* in_order(sdk::Call& call, const void* data, const sdk::Shape& shape, AxisOrder order,
                     AxisOrder wanted, size_t element_bytes) {
  if (order == wanted || has_one_order(shape)) return data;
  const int64_t bytes = shape.element_count() * static_cast<int64_t>(element_bytes);
  auto* const moved = call.scratch<std::byte>(bytes);
  exchange_order(call, shape, order, element_bytes, data, moved);
  return moved;
}

ChannelsLastResult::ChannelsLastResult(sdk::Call& call, void* target, const sdk::Shape& shape,
                                       AxisOrder order, size_t element_bytes)
    : target_(target), data_(target), shape_(shape), element_bytes_(element_bytes) {
  if (order == AxisOrder::kChannelsLast || has_one_order(shape)) return;
  const int64_t bytes = shape.element_count() * static_cast<int64_t>(element_bytes);
  data_ = call.scratch<std::byte>(bytes);
}

void ChannelsLastResult::finish(sdk::Call& call) const {
  if (data_ == target_) return;
  exchange_order(call, shape_, AxisOrder::kChannelsLast, element_bytes_, data_, target_);
}

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
// What stands around a convolution by this provider's own code: its tensors, which arrive and leave
// as the host has them and are brought channels-last in between.
#pragma once

#include <gantry/sdk/kernel.h>

#include <utility>

#include "conv/conv_shape.h"
#include "onednn/plan.h"
#include "simd/axis_order.h"

namespace gantry::x86 {

/// One shape of input and number of threads.
struct ConvPlan {
  Dims input;
  Dims output;
  Window::Placed placed;
  bool is_empty = false;  ///< the output has no elements
  // The tensors of the run at hand, channels-last.
  const void* source = nullptr;
  const void* addend = nullptr;  ///< null: nothing is added
  void* target = nullptr;

  ConvPlan(const ConvShape& shape, const sdk::Shape& given);

  // Of f32.
  [[nodiscard]] const float* source_floats() const { return static_cast<const float*>(source); }
  [[nodiscard]] const float* addend_floats() const { return static_cast<const float*>(addend); }
  [[nodiscard]] float* target_floats() const { return static_cast<float*>(target); }
};

/// Runs compute(plan) on tensors that stand channels-last. `make(input shape)` makes the plan of a
/// shape, a ConvPlan or what is derived from it.
/// Errors: INVALID_ARGUMENT for tensors of other shapes than the convolution's.
template <class Plan, class Make, class Compute>
void run_convolution(sdk::Call& call, const ConvShape& shape, const ConvSlots& slots, Make&& make,
                     Compute&& compute) {
  auto& cache = static_cast<PlanCache<Plan>&>(*call.context());
  const sdk::Shape input = call.shape(slots.source);
  shape.check_input(input);
  cache.key.assign(input.data, input.data + input.rank);
  cache.key.push_back(call.thread_count());
  Plan& plan = cache.get([&] { return make(input); });
  const sdk::Shape output(plan.output.data(), static_cast<int>(plan.output.size()));
  gantry_tensor& target = call.output(slots.target, dtype_of(slots.target_type), output);
  if (plan.is_empty) return;
  plan.source = slots.source_takes_any_order
                    ? call.input(slots.source).data
                    : in_order(call, call.input(slots.source).data, input,
                               axis_order(slots.source_is_formatted), AxisOrder::kChannelsLast,
                               dnnl::memory::data_type_size(slots.source_type));
  if (slots.addend >= 0) {
    shape.check_addend(call.shape(slots.addend), sdk::Shape(target));
    plan.addend =
        in_order(call, call.input(slots.addend).data, output, axis_order(slots.addend_is_formatted),
                 AxisOrder::kChannelsLast, dnnl::memory::data_type_size(slots.addend_type));
  }
  const ChannelsLastResult result(call, target.data, output, axis_order(slots.target_is_formatted),
                                  dnnl::memory::data_type_size(slots.target_type));
  plan.target = result.data();
  compute(std::as_const(plan));
  result.finish(call);
}

}  // namespace gantry::x86

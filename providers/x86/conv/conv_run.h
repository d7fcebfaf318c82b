// SPDX-License-Identifier: Apache-2.0
// Runs a convolution of this provider's own code on channels-last tensors: reorders the inputs and
// the result where the host has them in dense (NCHW) order.
#pragma once

#include <gantry/sdk/kernel.h>

#include <utility>

#include "conv/conv_shape.h"
#include "onednn/plan.h"
#include "simd/axis_order.h"

namespace gantry::x86 {

/// What a run needs for one input shape and thread count; cached per context.
struct ConvPlan {
  Dims input;   ///< [N, I, spatial...]
  Dims output;  ///< [N, O, spatial...]
  Window::Placed placed;
  bool is_empty = false;  ///< the output has no elements
  // The tensors of the current run, channels-last.
  const void* source = nullptr;
  const void* addend = nullptr;  ///< null: nothing is added
  void* target = nullptr;

  ConvPlan(const ConvShape& shape, const sdk::Shape& given);

  // The same as f32.
  [[nodiscard]] const float* source_floats() const { return static_cast<const float*>(source); }
  [[nodiscard]] const float* addend_floats() const { return static_cast<const float*>(addend); }
  [[nodiscard]] float* target_floats() const { return static_cast<float*>(target); }
};

/// Calls compute(plan) with channels-last tensors, unless the output is empty. `make(input shape)`
/// makes the plan of a new shape, of a type derived from ConvPlan.
/// Errors: INVALID_ARGUMENT if a tensor does not fit the convolution.
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

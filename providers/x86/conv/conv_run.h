// SPDX-License-Identifier: Apache-2.0
// What stands around a convolution by this provider's own code: its tensors, which arrive and leave
// as the host has them and are brought channels-last, or as the code wants them, in between.
#pragma once

#include <gantry/sdk/kernel.h>

#include <optional>
#include <utility>

#include "conv/conv_shape.h"
#include "onednn/plan.h"

namespace gantry::x86 {

/// One shape of input and number of threads.
struct ConvPlan {
  Dims input;
  Dims output;
  Window::Placed placed;
  bool is_empty = false;  ///< the output has no elements; nothing below is set
  Operand source;
  Operand addend;
  Operand target;

  /// Plans all but the operands.
  ConvPlan(const ConvShape& shape, const sdk::Shape& given);
  /// Tensors that are all channels-last inside; but a source that `takes_any` stays as it arrives.
  /// Requires the library's threads around (with_threads).
  void add_operands(const Fusion& fusion, const ConvSlots& slots, bool takes_any = false);
};

/// Runs compute(plan) between the reorders that the plan has. `make(input shape)` makes the plan of
/// a shape, a ConvPlan or what is derived from it, where the library sees the run's threads.
/// Errors: INVALID_ARGUMENT for tensors of other shapes than the convolution's.
template <class Plan, class Make, class Compute>
void run_convolution(sdk::Call& call, const ConvShape& shape, const ConvSlots& slots,
                     gantry_dtype type, Make&& make, Compute&& compute) {
  auto& cache = static_cast<PlanCache<Plan>&>(*call.context());
  const sdk::Shape input = call.shape(slots.source);
  shape.check_input(input);
  const int threads = call.thread_count();
  cache.key.assign(input.data, input.data + input.rank);
  cache.key.push_back(threads);
  Plan& plan = cache.get([&] {
    std::optional<Plan> made;
    with_threads(threads, [&] { made.emplace(make(input)); });
    return std::move(*made);
  });
  gantry_tensor& target =
      call.output(slots.target, type, {plan.output.data(), static_cast<int>(plan.output.size())});
  if (plan.is_empty) return;
  if (slots.addend >= 0) {
    shape.check_addend(call.shape(slots.addend), sdk::Shape(target));
    plan.addend.place(call, call.input(slots.addend).data);
  }
  plan.source.place(call, call.input(slots.source).data);
  plan.target.place(call, target.data);
  if (plan.source.is_moved() || plan.addend.is_moved()) {
    with_threads(threads, [&] {
      plan.source.run(cache.stream);
      plan.addend.run(cache.stream);
    });
  }
  compute(plan);
  if (plan.target.is_moved()) with_threads(threads, [&] { plan.target.run(cache.stream); });
}

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
#include "eltwise/int8_tensor.h"

#include <algorithm>

#include "simd/axis_order.h"

namespace gantry::x86 {

Int8Source::Int8Source(const KernelArgs& args, uint32_t value)
    : slot(static_cast<int>(args.slot_of(value))),
      is_formatted(args.is_input_formatted(args.slot_of(value))) {}

const uint8_t* Int8Source::in_order(sdk::Call& call, bool is_wanted_formatted) const {
  return static_cast<const uint8_t*>(x86::in_order(call, call.input(slot).data, call.shape(slot),
                                                   axis_order(is_formatted),
                                                   axis_order(is_wanted_formatted), 1));
}

std::optional<Int8Bounds> int8_bounds_of(const Epilogue& epilogue) {
  Int8Bounds bounds;
  for (const EpilogueStep& step : epilogue.steps) {
    if (!step.activation) return std::nullopt;
    const auto& [algorithm, alpha, beta] = *step.activation;
    const bool is_relu = algorithm == dnnl::algorithm::eltwise_relu && alpha == 0;
    if (!is_relu && algorithm != dnnl::algorithm::eltwise_clip) return std::nullopt;
    const float low = is_relu ? 0.0F : alpha;
    const float high = is_relu ? bounds.highest : beta;
    const auto within = [&](float x) { return std::min(std::max(x, low), high); };
    bounds = {within(bounds.lowest), within(bounds.highest)};
  }
  return bounds;
}

}  // namespace gantry::x86

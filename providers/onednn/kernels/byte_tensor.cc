// SPDX-License-Identifier: Apache-2.0
#include "kernels/byte_tensor.h"

#include <algorithm>
#include <utility>

#include "transpose/matrices.h"

namespace gantry::onednn {

ByteSource::ByteSource(const KernelArgs& args, uint32_t value)
    : slot(static_cast<int>(args.slot_of(value))),
      is_formatted(args.is_input_formatted(args.slot_of(value))) {}

const uint8_t* ByteSource::in_order(sdk::Call& call, bool is_wanted_formatted) const {
  const auto* from = static_cast<const uint8_t*>(call.input(slot).data);
  if (is_formatted == is_wanted_formatted) return from;
  const sdk::Shape shape = call.shape(slot);
  Matrices matrices{shape[0], shape[1], shape.count(2, shape.rank)};
  if (is_formatted) std::swap(matrices.rows, matrices.columns);
  auto* const moved = call.scratch<uint8_t>(shape.element_count());
  call.parallel_for(matrices.blocks(), matrices.grain(), [&](int64_t begin, int64_t end) {
    transpose(matrices, from, moved, begin, end);
  });
  return moved;
}

std::optional<ByteBounds> byte_bounds_of(const Chain& chain) {
  ByteBounds bounds;
  for (const EpilogueStep& step : chain.steps) {
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

}  // namespace gantry::onednn

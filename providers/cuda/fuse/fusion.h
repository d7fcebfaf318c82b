// SPDX-License-Identifier: Apache-2.0
// Base of the matches of this provider's fused kernels: the SDK's match, and which tensors may be
// channels-last. The fusion rows are at the foot of the kernels' files in operators/.
#pragma once

#include <gantry/sdk/fusion.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plan/operation.h"

namespace gantry::cuda {

/// When a kernel is faster with channels-last (NHWC) tensors.
enum class ChannelsLast : uint8_t {
  kNever,
  kWithCudnn,      ///< if cuDNN is available
  kWithCudnnTf32,  ///< if cuDNN is available and f32 may be rounded to TF32
  kAlways,
};

/// The case of a convolution with input `x`, [batch, channels, height, width], and of the operators
/// between convolutions, which then need no transpose: kWithCudnn for 16-bit floats, kWithCudnnTf32
/// for f32, which tensor cores multiply; kNever for other dtypes and ranks.
ChannelsLast channels_last_of(const sdk::ValueView& x);

/// A match around a root node. A match of one node is claimed only where channels-last tensors are
/// offered: otherwise its kernel row takes it.
struct Fusion : sdk::FusionMatch {
  uint32_t root = GANTRY_NONE;
  ChannelsLast channels_last = ChannelsLast::kNever;
  std::vector<uint32_t> channels_last_inputs;  ///< values that the kernel reads in that layout
  bool makes_channels_last = true;             ///< the kernel can write its result in that layout
  /// A group of fusions, each of which is claimed by itself too.
  bool is_group = false;
};

/// `refusal` of a row that refuses nothing.
template <class Match>
std::string no_refusal(const sdk::FusionScope&, const Match&) {
  return {};
}

/// Whether the host has granted channels-last for an input or output slot. -1: no slot.
inline bool is_granted(const gantry_format* const* formats, int slot) {
  return formats && slot >= 0 && formats[slot] != nullptr;
}

inline std::unique_ptr<sdk::Kernel> kernel_of(std::unique_ptr<Operation> operation) {
  return std::make_unique<PlannedKernel>(std::move(operation), 0);
}

/// The node that alone reads the only output of `node` and may be fused; GANTRY_NONE: there is
/// none.
inline uint32_t next_of(const sdk::FusionScope& scope, uint32_t node) {
  if (scope.index().raw(node).output_count != 1) return GANTRY_NONE;
  const uint32_t reader = scope.index().only_reader(sdk::result_of(scope.index(), node));
  return scope.may_fuse(reader) ? reader : GANTRY_NONE;
}

/// Whether two values have the same extent along an axis in every run, as far as the graph says: an
/// equal number, or the same symbol. Requires that both have the axis.
inline bool has_equal_extent(const sdk::ValueView& a, const sdk::ValueView& b, int axis) {
  if (a.extent(axis) >= 0 || b.extent(axis) >= 0) return a.extent(axis) == b.extent(axis);
  return !a.symbol(axis).empty() && a.symbol(axis) == b.symbol(axis);
}

/// Lower and upper bound of a Relu or Clip node; infinite where there is none. False: it is another
/// node, or a bound is no constant.
bool find_bounds(const sdk::NodeView& node, float& out_least, float& out_most);

}  // namespace gantry::cuda

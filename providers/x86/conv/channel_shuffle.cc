// SPDX-License-Identifier: Apache-2.0
#include "conv/channel_shuffle.h"

#include <vector>

namespace gantry::x86 {
namespace {

// True if all extents from axis 1 on are known.
bool is_known(const sdk::ValueView& value, int rank) {
  if (value.rank() != rank || value.dtype() != GANTRY_FLOAT) return false;
  for (int axis = 1; axis < rank; ++axis) {
    if (value.extent(axis) < 1) return false;
  }
  return true;
}

}  // namespace

std::optional<Shuffle> shuffle_of(const GraphIndex& index, uint32_t value,
                                  const std::function<bool(uint32_t)>& may_take) {
  Shuffle shuffle;
  constexpr std::array kOperators = {"Reshape", "Transpose", "Reshape"};
  std::array<uint32_t, 4> values = {0, 0, 0, value};
  for (size_t i = kOperators.size(); i-- > 0;) {
    const uint32_t result = values[i + 1];
    const uint32_t node = index.producer(result);
    if (node == GANTRY_NONE || index.only_reader(result) == GANTRY_NONE || !may_take(node) ||
        index.raw(node).domain.length != 0 || index.node(node).op_type() != kOperators[i])
      return std::nullopt;
    if (i != 1 && !index.node(node).input(1).is_constant()) return std::nullopt;
    shuffle.nodes[i] = node;
    values[i] = index.raw(node).inputs[0];
  }
  const sdk::ValueView source = index.value(values[0]);
  const sdk::ValueView parted = index.value(values[1]);
  const sdk::ValueView joined = index.value(value);
  if (!is_known(source, 4) || !is_known(parted, 5) || !is_known(joined, 4)) return std::nullopt;
  if (index.node(shuffle.nodes[1]).get_ints("perm", {}) != std::vector<int64_t>{0, 2, 1, 3, 4})
    return std::nullopt;
  // With these extents equal those of axis 0 are too.
  for (int axis = 2; axis < 4; ++axis) {
    if (parted.extent(axis + 1) != source.extent(axis) ||
        joined.extent(axis) != source.extent(axis))
      return std::nullopt;
  }
  if (parted.extent(1) * parted.extent(2) != source.extent(1) ||
      joined.extent(1) != source.extent(1))
    return std::nullopt;
  shuffle.source = values[0];
  shuffle.groups = parted.extent(1);
  return shuffle;
}

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
#include "attention/repeated_heads.h"

#include <string_view>

namespace gantry::x86 {
namespace {

constexpr int kHeadsRank = 4;

std::string_view symbol_of(const sdk::GraphIndex& index, uint32_t value, int axis) {
  const gantry_value_info& info = *index.graph().values[value];
  return info.symbols ? sdk::to_view(info.symbols[axis]) : std::string_view();
}

/// An extent; 0 if it is unknown.
int64_t known(const sdk::GraphIndex& index, uint32_t value, int axis) {
  const int64_t extent = index.value(value).extent(axis);
  return extent > 0 ? extent : 0;
}

/// True if `wide`, [batch, heads, count, length, width], has the extents of `narrow`, [batch,
/// heads, length, width], on the other axes.
bool has_axis_more(const sdk::GraphIndex& index, uint32_t narrow, uint32_t wide) {
  if (index.value(narrow).rank() != kHeadsRank || index.value(wide).rank() != kHeadsRank + 1)
    return false;
  for (int axis = 0; axis < kHeadsRank; ++axis) {
    if (!is_same_extent(index, narrow, axis, wide, axis < 2 ? axis : axis + 1)) return false;
  }
  return true;
}

}  // namespace

bool is_same_extent(const sdk::GraphIndex& index, uint32_t value, int axis, uint32_t other,
                    int other_axis) {
  const int64_t extent = index.value(value).extent(axis);
  if (extent != index.value(other).extent(other_axis)) return false;
  if (extent >= 0) return true;
  const std::string_view symbol = symbol_of(index, value, axis);
  return !symbol.empty() && symbol == symbol_of(index, other, other_axis);
}

std::optional<Repeats> repeats_of(const sdk::GraphIndex& index, uint32_t value,
                                  const std::function<uint32_t(uint32_t value)>& own_producer,
                                  const std::function<bool(uint32_t node)>& may_take) {
  const auto is = [&](uint32_t node, std::string_view op) {
    return node != GANTRY_NONE && may_take(node) && index.node(node).domain().empty() &&
           index.node(node).op_type() == op;
  };
  const uint32_t merge = own_producer(value);
  if (!is(merge, "Reshape") || index.value(value).rank() != kHeadsRank) return std::nullopt;
  const uint32_t wide = index.raw(merge).inputs[0];
  const uint32_t expand = own_producer(wide);
  if (!is(expand, "Expand") && !is(expand, "Tile")) return std::nullopt;
  const uint32_t put_in = own_producer(index.raw(expand).inputs[0]);
  if (!is(put_in, "Unsqueeze") && !is(put_in, "Reshape")) return std::nullopt;
  const uint32_t one = index.raw(expand).inputs[0];
  const uint32_t source = index.raw(put_in).inputs[0];
  if (!has_axis_more(index, source, one) || known(index, one, 2) != 1) return std::nullopt;
  if (!has_axis_more(index, source, wide)) return std::nullopt;
  // The number of elements is the same: equal extents on all axes but one make that one equal too.
  const int64_t count = known(index, wide, 2);
  const int64_t heads = known(index, source, 1);
  const bool fits =
      count > 0 && heads > 0 && known(index, value, 1) == heads * count &&
      is_same_extent(index, source, 3, value, 3) &&
      (is_same_extent(index, source, 0, value, 0) || is_same_extent(index, source, 2, value, 2));
  if (!fits) return std::nullopt;
  return Repeats{{put_in, expand, merge}, source, count};
}

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
#include "attention/qkv_slices.h"

#include <algorithm>
#include <string_view>

#include "fuse/constants.h"

namespace gantry::x86 {
namespace {

/// An axis counted from 0; -1: out of range.
int axis_from(int64_t axis, int rank) {
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? static_cast<int>(axis) : -1;
}

/// The only axis of a Squeeze; nothing: it is not constant, or there are others.
std::optional<int64_t> squeezed_axis(const sdk::NodeView& squeeze) {
  if (squeeze.input_count() > 1 && squeeze.input(1).present()) return integer_of(squeeze.input(1));
  const std::vector<int64_t> axes = squeeze.get_ints("axes", {});
  if (axes.size() != 1) return std::nullopt;
  return axes[0];
}

std::optional<Pick> by_gather(const sdk::GraphIndex& index, uint32_t gather) {
  const sdk::NodeView node = index.node(gather);
  const sdk::ValueView source = node.input(0);
  const std::optional<int64_t> at = integer_of(node.input(1));
  if (source.rank() < 1 || node.input(1).rank() != 0 || !at || *at < 0) return std::nullopt;
  const int axis = axis_from(node.get_int("axis", 0), source.rank());
  if (axis < 0) return std::nullopt;
  return Pick{{gather}, index.raw(gather).inputs[0], axis, *at};
}

std::optional<Pick> by_split(const sdk::GraphIndex& index, uint32_t squeeze, uint32_t split) {
  const gantry_node& raw = index.raw(split);
  const sdk::ValueView source = index.node(split).input(0);
  const int axis = axis_from(index.node(split).get_int("axis", 0), source.rank());
  const std::optional<int64_t> squeezed = squeezed_axis(index.node(squeeze));
  if (axis < 0 || !squeezed || axis_from(*squeezed, source.rank()) != axis) return std::nullopt;
  for (uint32_t i = 0; i < raw.output_count; ++i) {
    const uint32_t part = raw.outputs[i];
    if (part == GANTRY_NONE || index.value(part).extent(axis) != 1) return std::nullopt;
  }
  const uint32_t* const last = raw.outputs + raw.output_count;
  const uint32_t* const own = std::find(raw.outputs, last, index.raw(squeeze).inputs[0]);
  return Pick{{split, squeeze}, raw.inputs[0], axis, own - raw.outputs};
}

}  // namespace

std::optional<Pick> pick_of(const sdk::GraphIndex& index, uint32_t value,
                            const std::function<bool(uint32_t node)>& may_take) {
  const auto is = [&](uint32_t node, std::string_view op) {
    return node != GANTRY_NONE && may_take(node) && index.node(node).domain().empty() &&
           index.node(node).op_type() == op;
  };
  if (index.only_reader(value) == GANTRY_NONE) return std::nullopt;
  const uint32_t maker = index.producer(value);
  if (is(maker, "Gather")) return by_gather(index, maker);
  if (!is(maker, "Squeeze")) return std::nullopt;
  const uint32_t split = index.producer(index.raw(maker).inputs[0]);
  return is(split, "Split") ? by_split(index, maker, split) : std::nullopt;
}

bool is_read_by_only(const sdk::GraphIndex& index, uint32_t node,
                     const std::vector<uint32_t>& nodes) {
  const gantry_node& raw = index.raw(node);
  return std::all_of(raw.outputs, raw.outputs + raw.output_count, [&](uint32_t value) {
    if (value == GANTRY_NONE) return true;
    const std::vector<uint32_t> readers = index.readers(value);
    return !index.is_output(value) &&
           std::all_of(readers.begin(), readers.end(), [&](uint32_t reader) {
             return std::find(nodes.begin(), nodes.end(), reader) != nodes.end();
           });
  });
}

}  // namespace gantry::x86

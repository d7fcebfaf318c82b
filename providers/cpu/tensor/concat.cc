// SPDX-License-Identifier: Apache-2.0
// Concat and Split.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "elements.h"
#include "families.h"
#include "node_kernel.h"
#include "tensor/axis_view.h"

namespace gantry::cpu {

namespace {

class ConcatKernel final : public NodeKernel {
 public:
  explicit ConcatKernel(const sdk::NodeView& node)
      : NodeKernel(node), axis_(node.get_int("axis", 1)) {
    if (node.since_version() >= 4 && !node.has("axis"))
      node.fail(GANTRY_INVALID_MODEL, "attribute \"axis\" is missing");
    if (node.input_count() == 0) node.fail(GANTRY_INVALID_MODEL, "there are no inputs to join");
  }
  void run(sdk::Call& call) const override {
    const sdk::Shape first = call.shape(0);
    const int axis = checked_axis(axis_, first.rank);
    Dims shape(first);
    for (int slot = 1; slot < call.input_count(); ++slot) {
      require_same_but(axis, first, call.shape(slot), slot);
      shape[axis] += call.shape(slot)[axis];
    }
    const uint32_t dtype = call.input(0).dtype;
    UnitWriter output(call, 0, dtype, shape.shape());
    const AxisView joined(shape.shape(), axis);
    const int64_t unit = unit_bytes(dtype);
    std::byte* target = output.data();
    for (int slot = 0; slot < call.input_count(); ++slot) {
      const AxisView part(call.shape(slot), axis);
      if (joined.outer * part.block() == 0) continue;
      copy_blocks(call, unit, part.outer, part.block(), read_units(call, slot), part.block(),
                  target, joined.block());
      target += part.block() * unit;
    }
    output.finish();
  }

 private:
  void require_same_but(int axis, sdk::Shape first, sdk::Shape other, int slot) const {
    bool same = first.rank == other.rank;
    for (int i = 0; same && i < first.rank; ++i) same = i == axis || first[i] == other[i];
    if (!same) {
      fail("input " + std::to_string(slot) + " has shape " + to_string(other) +
           ", which differs from that of input 0, " + to_string(first) + ", in more than axis " +
           std::to_string(axis));
    }
  }

  int64_t axis_;
};

/// Part extents from attribute `split` (opset 1 to 12) or input 1 (opset 1, and 13 on); without
/// either, equal parts.
class SplitKernel final : public NodeKernel {
 public:
  explicit SplitKernel(const sdk::NodeView& node)
      : NodeKernel(node),
        axis_(node.get_int("axis", 0)),
        parts_(node.output_count()),
        split_(node.get_ints("split")),
        has_split_input_(node.input(1).present()),
        last_may_be_smaller_(node.since_version() >= 18) {
    const int64_t declared = node.get_int("num_outputs", parts_);
    if (declared != parts_) {
      node.fail(GANTRY_INVALID_MODEL, "\"num_outputs\" is " + std::to_string(declared) +
                                          ", but there are " + std::to_string(parts_) + " outputs");
    }
    if (!split_.empty() && split_.size() != static_cast<size_t>(parts_)) fail_parts(split_.size());
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape input = call.shape(0);
    const int axis = checked_axis(axis_, input.rank);
    const AxisView whole(input, axis);
    auto* extents = call.scratch<int64_t>(parts_);
    set_extents(call, input, axis, extents);
    const uint32_t dtype = call.input(0).dtype;
    const int64_t unit = unit_bytes(dtype);
    const std::byte* source = read_units(call, 0);
    for (int slot = 0; slot < parts_; ++slot) {
      const int64_t run = extents[slot] * whole.inner;
      if (call.wants(slot)) {
        Dims shape(input);
        shape[axis] = extents[slot];
        UnitWriter output(call, slot, dtype, shape.shape());
        if (whole.outer * run > 0) {
          copy_blocks(call, unit, whole.outer, run, source, whole.block(), output.data(), run);
        }
        output.finish();
      }
      source += run * unit;
    }
  }

 private:
  [[noreturn]] void fail_parts(size_t count) const {
    fail("the split has " + std::to_string(count) + " parts, but there are " +
         std::to_string(parts_) + " outputs");
  }

  void set_extents(sdk::Call& call, sdk::Shape input, int axis, int64_t* extents) const {
    if (has_split_input_) {
      read_split(call, extents);
    } else if (!split_.empty()) {
      std::copy(split_.begin(), split_.end(), extents);
    } else {
      return set_equal(input[axis], extents);
    }
    int64_t left = input[axis];
    for (int i = 0; i < parts_; ++i) {
      if (extents[i] < 0 || extents[i] > left) left = -1;
      if (left < 0) break;
      left -= extents[i];
    }
    if (left != 0) {
      fail("the parts " + to_string({extents, parts_}) + " do not add up to " +
           std::to_string(input[axis]) + ", the extent of axis " + std::to_string(axis));
    }
  }

  void read_split(sdk::Call& call, int64_t* extents) const {
    const int64_t count = call.shape(1).element_count();
    if (count != parts_) fail_parts(static_cast<size_t>(count));
    // Opset 1 gives the extents in the element type of the data.
    dispatch<TypeList<int64_t, float, double, Float16>>(call.input(1).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      for (int i = 0; i < parts_; ++i) {
        const auto extent = static_cast<Compute<T>>(call.data<T>(1)[i]);
        extents[i] = extent >= 0 && extent < 9e18 ? static_cast<int64_t>(extent) : -1;
      }
    });
  }

  void set_equal(int64_t extent, int64_t* extents) const {
    const int64_t part = extent / parts_ + (extent % parts_ != 0 ? 1 : 0);
    const int64_t last = extent - part * (parts_ - 1);
    if (last < 0 || (last != part && !last_may_be_smaller_)) {
      fail("an extent of " + std::to_string(extent) + " cannot be split into " +
           std::to_string(parts_) + " equal parts");
    }
    std::fill_n(extents, parts_, part);
    extents[parts_ - 1] = last;
  }

  int64_t axis_;
  int parts_;
  std::vector<int64_t> split_;
  bool has_split_input_;
  bool last_may_be_smaller_;
};

constexpr sdk::KernelRow kConcatRows[] = {
    {"Concat", 1, sdk::kLatest, sdk::kAllTypes, sdk::make<ConcatKernel>},
    {"Split", 1, sdk::kLatest, sdk::kAllTypes, sdk::make<SplitKernel>, {.signature_inputs = 0b10}},
};

}  // namespace

sdk::KernelTable concat_kernels() { return sdk::table(kConcatRows); }

}  // namespace gantry::cpu

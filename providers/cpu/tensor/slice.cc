// SPDX-License-Identifier: Apache-2.0
// Slice, with steps of either sign. Starts and ends are attributes up to opset 9 and inputs from
// opset 10 on.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "elements.h"
#include "families.h"
#include "node_kernel.h"
#include "tensor/strided_copy.h"

namespace gantry::cpu {

namespace {

/// The part of one axis that is taken: `count` elements from `start` on, `step` apart.
struct AxisRange {
  int64_t start;
  int64_t step;
  int64_t count;
};

/// Clamps as ONNX says. Requires step != 0 and extent >= 0.
AxisRange clamp_range(int64_t start, int64_t end, int64_t step, int64_t extent) {
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    return {start, step, end > start ? (end - start - 1) / step + 1 : 0};
  }
  if (extent == 0) return {0, step, 0};
  start = std::clamp<int64_t>(start, 0, extent - 1);
  end = std::clamp<int64_t>(end, -1, extent - 1);
  // The quotient of two negative numbers: the step may be INT64_MIN, whose magnitude does not fit.
  return {start, step, start > end ? (end - start + 1) / step + 1 : 0};
}

class SliceKernel : public NodeKernel {
 protected:
  using NodeKernel::NodeKernel;

  /// Null `axes`: 0, 1, 2, ...; null `steps`: all 1.
  void slice(sdk::Call& call, const Dims& starts, const Dims& ends, const Dims* axes,
             const Dims* steps) const {
    const int count = starts.rank();
    if (ends.rank() != count || (axes && axes->rank() != count) ||
        (steps && steps->rank() != count)) {
      fail("starts, ends, axes and steps must have as many numbers as one another");
    }
    const sdk::Shape input = call.shape(0);
    Dims shape(input);
    Dims strides = dense_strides(input);
    bool seen[kMaxRank] = {};
    int64_t offset = 0;
    for (int i = 0; i < count; ++i) {
      const int axis = checked_axis(axes ? (*axes)[i] : i, input.rank);
      if (seen[axis]) fail("axis " + std::to_string(axis) + " is named twice");
      seen[axis] = true;
      const int64_t step = steps ? (*steps)[i] : 1;
      if (step == 0) fail("the step of axis " + std::to_string(axis) + " is 0");
      const AxisRange range = clamp_range(starts[i], ends[i], step, input[axis]);
      shape[axis] = range.count;
      offset += range.start * strides[axis];
      // With one element the step is not used, and the product could overflow.
      if (range.count > 1) strides[axis] *= range.step;
    }
    copy(call, shape, strides, offset);
  }

 private:
  static void copy(sdk::Call& call, const Dims& shape, const Dims& strides, int64_t offset) {
    const uint32_t dtype = call.input(0).dtype;
    UnitWriter output(call, 0, dtype, shape.shape());
    if (shape.shape().element_count() > 0) {
      const int64_t unit = unit_bytes(dtype);
      const Dims target_strides = dense_strides(shape.shape());
      copy_strided(call, unit, shape.shape(), read_units(call, 0) + offset * unit, strides.data(),
                   output.data(), target_strides.data());
    }
    output.finish();
  }
};

class SliceByAttribute final : public SliceKernel {
 public:
  explicit SliceByAttribute(const sdk::NodeView& node)
      : SliceKernel(node),
        starts_(of(node.get_ints("starts"))),
        ends_(of(node.get_ints("ends"))),
        axes_(of(node.get_ints("axes"))),
        has_axes_(node.has("axes")) {}
  void run(sdk::Call& call) const override {
    slice(call, starts_, ends_, has_axes_ ? &axes_ : nullptr, nullptr);
  }

 private:
  static Dims of(const std::vector<int64_t>& numbers) {
    Dims dims;
    for (const int64_t number : numbers) dims.push(number);
    return dims;
  }

  Dims starts_;
  Dims ends_;
  Dims axes_;
  bool has_axes_;
};

class SliceByInput final : public SliceKernel {
 public:
  explicit SliceByInput(const sdk::NodeView& node) : SliceKernel(node) {}
  void run(sdk::Call& call) const override {
    Dims axes;
    Dims steps;
    const bool has_axes = call.has_input(3);
    const bool has_steps = call.has_input(4);
    if (has_axes) axes = read_ints(call, 3);
    if (has_steps) steps = read_ints(call, 4);
    slice(call, read_ints(call, 1), read_ints(call, 2), has_axes ? &axes : nullptr,
          has_steps ? &steps : nullptr);
  }
};

constexpr sdk::KernelRow kSliceRows[] = {
    {"Slice", 1, 9, sdk::kAllTypes, sdk::make<SliceByAttribute>},
    {"Slice",
     10,
     sdk::kLatest,
     sdk::kAllTypes,
     sdk::make<SliceByInput>,
     {.signature_inputs = 0b11110}},
};

}  // namespace

sdk::KernelTable slice_kernels() { return sdk::table(kSliceRows); }

}  // namespace gantry::cpu

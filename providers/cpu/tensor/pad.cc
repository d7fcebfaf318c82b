// SPDX-License-Identifier: Apache-2.0
// Pad and CenterCropPad. Both write the output row by row with a table per axis: the input position
// that each output position copies, or that it takes the fill value.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "attributes.h"
#include "elements.h"
#include "families.h"
#include "node_kernel.h"

namespace gantry::cpu {

namespace {

enum class PadMode { kConstant, kReflect, kEdge, kWrap };

/// Table entry of an output position that takes the fill value.
constexpr int64_t kFill = -1;
constexpr int64_t kGrainBytes = 64 * 1024;

/// One axis, or several merged ones that are not padded. Negative `before` or `after` crops.
struct PadAxis {
  int64_t extent;
  int64_t before;
  int64_t after;

  [[nodiscard]] int64_t output() const { return extent + before + after; }
};

/// Input position that is copied to `position`. Positions count from the first input element that
/// is not cropped; `count` are not cropped.
int64_t source_of(PadMode mode, int64_t position, int64_t count) {
  if (position >= 0 && position < count) return position;
  switch (mode) {
    case PadMode::kConstant:
      return kFill;
    case PadMode::kEdge:
      return position < 0 ? 0 : count - 1;
    case PadMode::kWrap:
      return (position % count + count) % count;
    case PadMode::kReflect: {
      if (count == 1) return 0;
      const int64_t period = 2 * (count - 1);
      const int64_t phase = (position % period + period) % period;
      return phase < count ? phase : period - phase;
    }
  }
  return kFill;
}

/// Writes the output: a table for each axis, and for the innermost axis the range that is copied
/// contiguously.
template <class U>
class PadWalk {
 public:
  PadWalk(sdk::Call& call, const PadAxis* axes, int rank, PadMode mode, U fill, const U* source,
          U* target)
      : rank_(rank), fill_(fill), source_(source), target_(target) {
    Dims extents;
    int64_t table_length = 0;
    for (int i = 0; i < rank; ++i) {
      extents.push(axes[i].extent);
      shape_.push(axes[i].output());
      // With a constant fill, rows (long, if axes were merged) need no table.
      if (i < rank - 1 || mode != PadMode::kConstant) table_length += axes[i].output();
    }
    strides_ = dense_strides(extents.shape());
    auto* table = call.scratch<int64_t>(table_length);
    for (int i = 0; i < rank; ++i) {
      // Cropping comes first: what it removes is not repeated.
      const int64_t cropped = std::max<int64_t>(0, -axes[i].before);
      const int64_t kept = axes[i].extent - cropped - std::max<int64_t>(0, -axes[i].after);
      const int64_t first = std::max<int64_t>(0, axes[i].before);
      if (i == rank - 1) {
        copy_begin_ = first;
        copy_end_ = first + kept;
        copy_source_ = cropped;
        if (mode == PadMode::kConstant) break;
      }
      for (int64_t k = 0; k < shape_[i]; ++k) {
        const int64_t source_position = source_of(mode, k - first, kept);
        table[k] = source_position == kFill ? kFill : (source_position + cropped) * strides_[i];
      }
      tables_[i] = table;
      table += shape_[i];
    }
  }

  void run(sdk::Call& call) const {
    const int64_t row = shape_.back();
    const int64_t rows = shape_.shape().count(0, rank_ - 1);
    const auto grain = std::max<int64_t>(1, kGrainBytes / (row * static_cast<int64_t>(sizeof(U))));
    call.parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) write_row(i, target_ + i * row);
    });
  }

 private:
  void write_row(int64_t row, U* target) const {
    int64_t offset = 0;
    for (int i = rank_ - 2; i >= 0; --i) {
      const int64_t index = tables_[i][row % shape_[i]];
      row /= shape_[i];
      if (index == kFill) {
        std::fill_n(target, shape_.back(), fill_);
        return;
      }
      offset += index;
    }
    const U* source = source_ + offset;
    write_ends(source, target);
    if (copy_end_ > copy_begin_) {
      std::memcpy(target + copy_begin_, source + copy_source_,
                  static_cast<size_t>(copy_end_ - copy_begin_) * sizeof(U));
    }
  }

  void write_ends(const U* source, U* target) const {
    if (const int64_t* table = tables_[rank_ - 1]) {
      for (int64_t k = 0; k < copy_begin_; ++k) target[k] = source[table[k]];
      for (int64_t k = copy_end_; k < shape_.back(); ++k) target[k] = source[table[k]];
    } else {
      std::fill_n(target, copy_begin_, fill_);
      std::fill_n(target + copy_end_, shape_.back() - copy_end_, fill_);
    }
  }

  int rank_;
  U fill_;
  const U* source_;
  U* target_;
  int64_t copy_begin_ = 0;
  int64_t copy_end_ = 0;
  int64_t copy_source_ = 0;
  Dims shape_;
  Dims strides_;
  const int64_t* tables_[kMaxRank] = {};
};

/// Merges neighbouring axes of which the inner one is not padded, so that rows are long. Returns
/// the number of axes.
int merge_axes(sdk::Shape input, const Dims& before, const Dims& after, PadAxis* axes) {
  int rank = 0;
  for (int i = 0; i < input.rank; ++i) {
    const bool plain = before[i] == 0 && after[i] == 0;
    if (plain && rank > 0) {
      axes[rank - 1].extent *= input[i];
      axes[rank - 1].before *= input[i];
      axes[rank - 1].after *= input[i];
    } else {
      axes[rank++] = {input[i], before[i], after[i]};
    }
  }
  if (rank == 0) axes[rank++] = {1, 0, 0};
  return rank;
}

class PadKernel : public NodeKernel {
 protected:
  using NodeKernel::NodeKernel;

  /// `fill`: one unit (elements.h).
  void pad(sdk::Call& call, const Dims& before, const Dims& after, PadMode mode,
           const void* fill) const {
    const sdk::Shape input = call.shape(0);
    Dims shape(input);
    for (int i = 0; i < input.rank; ++i)
      shape[i] = checked_output(input, i, before[i], after[i], mode);
    const uint32_t dtype = call.input(0).dtype;
    const int64_t count = count_of(shape.shape());
    UnitWriter output(call, 0, dtype, shape.shape());
    if (count > 0) {
      // Reflecting and wrapping copy single positions, so such an axis cannot be merged with an
      // inner one.
      PadAxis axes[kMaxRank];
      int rank = input.rank;
      if (mode == PadMode::kConstant || rank == 0) {
        rank = merge_axes(input, before, after, axes);
      } else {
        for (int i = 0; i < rank; ++i) axes[i] = {input[i], before[i], after[i]};
      }
      const std::byte* source = read_units(call, 0);
      dispatch_unit(dtype, [&](auto type) {
        using U = typename decltype(type)::type;
        U unit;
        std::memcpy(&unit, fill, sizeof(U));
        PadWalk<U>(call, axes, rank, mode, unit, reinterpret_cast<const U*>(source), output.as<U>())
            .run(call);
      });
    }
    output.finish();
  }

 private:
  int64_t checked_output(sdk::Shape input, int axis, int64_t before, int64_t after,
                         PadMode mode) const {
    int64_t extent = 0;
    const bool fits = !__builtin_add_overflow(input[axis], before, &extent) &&
                      !__builtin_add_overflow(extent, after, &extent) && extent >= 0;
    // Cropping more than the extent is refused: the result would depend on the order of cropping
    // and padding.
    const bool crops_too_much =
        fits && (before < -input[axis] || after < -input[axis] ||
                 std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0) < -input[axis]);
    if (!fits || crops_too_much) {
      fail("an extent of " + std::to_string(input[axis]) + " cannot be padded by " +
           std::to_string(before) + " and " + std::to_string(after));
    }
    const int64_t kept = input[axis] + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    if (mode != PadMode::kConstant && kept == 0 && extent > 0) {
      fail("axis " + std::to_string(axis) + " has no elements that its padding could repeat");
    }
    return extent;
  }
};

PadMode parse_mode(const sdk::NodeView& node) {
  return read_choice<PadMode>(node, "mode", "constant", {"constant", "reflect", "edge", "wrap"});
}

/// Opset 1 ("paddings") to 10: pads and value are attributes.
class PadByAttribute final : public PadKernel {
 public:
  explicit PadByAttribute(const sdk::NodeView& node)
      : PadKernel(node),
        mode_(parse_mode(node)),
        pads_(node.get_ints(node.has("pads") ? "pads" : "paddings")),
        value_(node.get_float("value", 0)) {}
  void run(sdk::Call& call) const override {
    const int rank = call.shape(0).rank;
    if (pads_.size() != static_cast<size_t>(rank) * 2) {
      fail(std::to_string(pads_.size()) + " pads are given for a tensor of rank " +
           std::to_string(rank));
    }
    Dims before;
    Dims after;
    for (int i = 0; i < rank; ++i) {
      before.push(pads_[static_cast<size_t>(i)]);
      after.push(pads_[static_cast<size_t>(i) + static_cast<size_t>(rank)]);
    }
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      const auto fill = static_cast<typename decltype(type)::type>(value_);
      pad(call, before, after, mode_, &fill);
    });
  }

 private:
  PadMode mode_;
  std::vector<int64_t> pads_;
  float value_;
};

/// Since opset 11: pads, value and (18) axes are inputs.
class PadByInput final : public PadKernel {
 public:
  explicit PadByInput(const sdk::NodeView& node) : PadKernel(node), mode_(parse_mode(node)) {}
  void run(sdk::Call& call) const override {
    const int rank = call.shape(0).rank;
    const int64_t given = call.shape(1).element_count();
    Dims axes;
    if (call.has_input(3)) {
      axes = read_ints(call, 3);
    } else {
      for (int i = 0; i < rank; ++i) axes.push(i);
    }
    if (given != 2 * axes.rank() || call.input(1).dtype != GANTRY_INT64) {
      fail(std::to_string(given) + " pads are given for " + std::to_string(axes.rank()) + " axes");
    }
    Dims before(rank, 0);
    Dims after(rank, 0);
    const auto* pads = call.data<int64_t>(1);
    bool seen[kMaxRank] = {};
    for (int i = 0; i < axes.rank(); ++i) {
      const int axis = checked_axis(axes[i], rank);
      if (seen[axis]) fail("axis " + std::to_string(axis) + " is named twice");
      seen[axis] = true;
      before[axis] = pads[i];
      after[axis] = pads[i + axes.rank()];
    }
    constexpr uint8_t kZero[16] = {};
    const void* fill = kZero;
    if (call.has_input(2)) {
      if (call.shape(2).element_count() != 1) fail("the fill value must be one element");
      fill = read_units(call, 2);
    }
    pad(call, before, after, mode_, fill);
  }

 private:
  PadMode mode_;
};

class CenterCropPad final : public PadKernel {
 public:
  explicit CenterCropPad(const sdk::NodeView& node)
      : PadKernel(node), has_axes_(node.has("axes")), axes_(node.get_ints("axes")) {}
  void run(sdk::Call& call) const override {
    const sdk::Shape input = call.shape(0);
    const Dims wanted = read_ints(call, 1);
    const int count = has_axes_ ? static_cast<int>(axes_.size()) : input.rank;
    if (wanted.rank() != count) {
      fail(std::to_string(wanted.rank()) + " extents are given for " + std::to_string(count) +
           " axes");
    }
    Dims before(input.rank, 0);
    Dims after(input.rank, 0);
    for (int i = 0; i < count; ++i) {
      const int axis = checked_axis(has_axes_ ? axes_[static_cast<size_t>(i)] : i, input.rank);
      if (wanted[i] < 0) fail("an extent of " + std::to_string(wanted[i]) + " is asked for");
      const int64_t missing = wanted[i] - input[axis];
      // Of an odd difference the larger part is at the end. Both halves round towards zero or below
      // alike.
      before[axis] = missing / 2;
      after[axis] = missing - before[axis];
    }
    constexpr uint8_t kZero[16] = {};
    pad(call, before, after, PadMode::kConstant, kZero);
  }

 private:
  bool has_axes_;
  std::vector<int64_t> axes_;
};

constexpr sdk::KernelRow kPadRows[] = {
    {"Pad", 1, 10, sdk::kFloats, sdk::make<PadByAttribute>},
    {"Pad", 11, sdk::kLatest, sdk::kAllTypes, sdk::make<PadByInput>, {.signature_inputs = 0b1010}},
    {"CenterCropPad",
     18,
     sdk::kLatest,
     sdk::kAllTypes,
     sdk::make<CenterCropPad>,
     {.signature_inputs = 0b10}},
};

}  // namespace

sdk::KernelTable pad_kernels() { return sdk::table(kPadRows); }

}  // namespace gantry::cpu

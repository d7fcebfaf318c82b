// SPDX-License-Identifier: Apache-2.0
// Operators on sequences of tensors: create, read and change them, split a tensor into one and
// concatenate one. Items are shared, not copied.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "elements.h"
#include "families.h"
#include "node_kernel.h"
#include "tensor/axis_view.h"
#include "values.h"

namespace gantry::cpu {

namespace {

class SequenceKernel : public NodeKernel {
 protected:
  explicit SequenceKernel(const sdk::NodeView& node) : NodeKernel(node) {}

  [[nodiscard]] static OwnedValue create(sdk::Call& call, uint32_t dtype) {
    return create_value(call.host(), GANTRY_KIND_SEQUENCE, dtype);
  }
  static void append(sdk::Call& call, const OwnedValue& sequence, const gantry_value* item) {
    sdk::check(call.host(), call.host()->value_append(sequence.get(), item));
  }
  [[nodiscard]] static int64_t length(sdk::Call& call, int slot) {
    return static_cast<int64_t>(call.host()->value_length(call.value(slot)));
  }
  [[nodiscard]] static const gantry_value* item(sdk::Call& call, int slot, int64_t index) {
    return call.host()->value_at(call.value(slot), static_cast<uint64_t>(index));
  }
  /// `position` of [-count, count) as a position of [0, count).
  [[nodiscard]] int64_t checked_position(int64_t position, int64_t count) const {
    if (position < -count || position >= count) {
      fail("position " + std::to_string(position) + " is outside a sequence of " +
           std::to_string(count));
    }
    return position < 0 ? position + count : position;
  }
};

class SequenceConstruct final : public SequenceKernel {
 public:
  explicit SequenceConstruct(const sdk::NodeView& node) : SequenceKernel(node) {}
  void run(sdk::Call& call) const override {
    const OwnedValue sequence = create(call, call.input(0).dtype);
    for (int slot = 0; slot < call.input_count(); ++slot) append(call, sequence, call.value(slot));
    call.output_value(0, sequence.get());
  }
};

class SequenceEmpty final : public SequenceKernel {
 public:
  explicit SequenceEmpty(const sdk::NodeView& node)
      : SequenceKernel(node), dtype_(static_cast<uint32_t>(node.get_int("dtype", GANTRY_FLOAT))) {}
  void run(sdk::Call& call) const override {
    const OwnedValue sequence = create(call, dtype_);
    call.output_value(0, sequence.get());
  }

 private:
  uint32_t dtype_;
};

class SequenceAt final : public SequenceKernel {
 public:
  explicit SequenceAt(const sdk::NodeView& node) : SequenceKernel(node) {}
  void run(sdk::Call& call) const override {
    call.output_value(0, item(call, 0, checked_position(read_int(call, 1), length(call, 0))));
  }
};

/// SequenceInsert and SequenceErase: a new sequence that shares the items of the old one.
class SequenceInsert final : public SequenceKernel {
 public:
  explicit SequenceInsert(const sdk::NodeView& node) : SequenceKernel(node) {}
  void run(sdk::Call& call) const override {
    const int64_t count = length(call, 0);
    const int64_t given = call.has_input(2) ? read_int(call, 2) : count;
    const int64_t position = given == count ? count : checked_position(given, count);
    const OwnedValue sequence = create(call, call.input(1).dtype);
    for (int64_t i = 0; i < count; ++i) {
      if (i == position) append(call, sequence, call.value(1));
      append(call, sequence, item(call, 0, i));
    }
    if (position == count) append(call, sequence, call.value(1));
    call.output_value(0, sequence.get());
  }
};

class SequenceErase final : public SequenceKernel {
 public:
  explicit SequenceErase(const sdk::NodeView& node)
      : SequenceKernel(node), dtype_(node.input(0).dtype()) {}
  void run(sdk::Call& call) const override {
    const int64_t count = length(call, 0);
    const int64_t position = checked_position(call.has_input(1) ? read_int(call, 1) : -1, count);
    const gantry_tensor* erased = call.host()->value_tensor(item(call, 0, position));
    const OwnedValue sequence = create(call, erased ? erased->dtype : dtype_);
    for (int64_t i = 0; i < count; ++i) {
      if (i != position) append(call, sequence, item(call, 0, i));
    }
    call.output_value(0, sequence.get());
  }

 private:
  uint32_t dtype_;
};

class SequenceLength final : public SequenceKernel {
 public:
  explicit SequenceLength(const sdk::NodeView& node) : SequenceKernel(node) {}
  void run(sdk::Call& call) const override {
    *static_cast<int64_t*>(call.output(0, GANTRY_INT64, {}).data) = length(call, 0);
  }
};

/// SplitToSequence: parts of the extents in a list, or of one extent from a scalar (the last part
/// may be smaller), or of extent 1.
class SplitToSequence final : public SequenceKernel {
 public:
  explicit SplitToSequence(const sdk::NodeView& node)
      : SequenceKernel(node),
        axis_(node.get_int("axis", 0)),
        keeps_axis_(node.get_int("keepdims", 1) != 0) {}
  void run(sdk::Call& call) const override {
    const sdk::Shape input = call.shape(0);
    const int axis = checked_axis(axis_, input.rank);
    const int64_t extent = input[axis];
    const OwnedValue sequence = create(call, call.input(0).dtype);
    const std::byte* source = read_units(call, 0);
    if (call.has_input(1) && call.shape(1).rank == 1) {
      split_by_list(call, axis, source, sequence);
    } else {
      const int64_t part = call.has_input(1) ? read_int(call, 1) : 1;
      if (part < 1) fail("the parts' extent is " + std::to_string(part) + ", needs at least 1");
      const bool drops_axis = !call.has_input(1) && !keeps_axis_;
      for (int64_t begin = 0; begin < extent; begin += std::min(part, extent - begin)) {
        add_part(call, axis, source, begin, std::min(part, extent - begin), drops_axis, sequence);
      }
    }
    call.output_value(0, sequence.get());
  }

 private:
  void split_by_list(sdk::Call& call, int axis, const std::byte* source,
                     const OwnedValue& sequence) const {
    const int64_t extent = call.shape(0)[axis];
    const int64_t count = call.shape(1)[0];
    const bool is_wide = call.input(1).dtype == GANTRY_INT64;
    int64_t begin = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t part = is_wide ? call.data<int64_t>(1)[i] : call.data<int32_t>(1)[i];
      if (part < 0 || part > extent - begin) break;
      add_part(call, axis, source, begin, part, false, sequence);
      begin += part;
      if (i == count - 1 && begin == extent) return;
    }
    if (count == 0 && extent == 0) return;
    fail("the parts do not add up to " + std::to_string(extent) + ", the extent of axis " +
         std::to_string(axis));
  }

  static void add_part(sdk::Call& call, int axis, const std::byte* source, int64_t begin,
                       int64_t part, bool drops_axis, const OwnedValue& sequence) {
    const sdk::Shape input = call.shape(0);
    const uint32_t dtype = call.input(0).dtype;
    Dims shape;
    for (int i = 0; i < input.rank; ++i) {
      if (i != axis) {
        shape.push(input[i]);
      } else if (!drops_axis) {
        shape.push(part);
      }
    }
    UnitWriter item(call, UnitWriter::kNoSlot, dtype, shape.shape());
    const AxisView view(input, axis);
    const int64_t unit = unit_bytes(dtype);
    const int64_t run = part * view.inner;
    if (view.outer * run > 0) {
      copy_blocks(call, unit, view.outer, run, source + begin * view.inner * unit, view.block(),
                  item.data(), run);
    }
    item.finish();
    append(call, sequence, item.value());
  }

  int64_t axis_;
  bool keeps_axis_;
};

/// ConcatFromSequence: concatenates the items along an axis, or with new_axis stacks them along a
/// new one.
class ConcatFromSequence final : public SequenceKernel {
 public:
  explicit ConcatFromSequence(const sdk::NodeView& node)
      : SequenceKernel(node),
        axis_(node.get_int("axis", 0)),
        stacks_(node.get_int("new_axis", 0) != 0) {}
  void run(sdk::Call& call) const override {
    const int64_t count = length(call, 0);
    if (count == 0) fail("the sequence is empty, so that the output has no shape");
    const gantry_tensor& first = tensor(call, 0);
    const int axis = checked_axis(axis_, static_cast<int>(first.rank) + (stacks_ ? 1 : 0));
    Dims shape = part_shape(first, axis);
    for (int64_t i = 1; i < count; ++i) {
      const gantry_tensor& other = tensor(call, i);
      const Dims part = part_shape(other, axis);
      bool same = other.dtype == first.dtype && part.rank() == shape.rank();
      for (int k = 0; same && k < shape.rank(); ++k) same = k == axis || part[k] == shape[k];
      if (!same) {
        fail("item " + std::to_string(i) + " has shape " + to_string(sdk::Shape(other)) +
             ", which does not fit that of item 0, " + to_string(sdk::Shape(first)));
      }
      shape[axis] += part[axis];
    }
    UnitWriter output(call, 0, first.dtype, shape.shape());
    join(call, axis, shape, output.data());
    output.finish();
  }

 private:
  [[nodiscard]] const gantry_tensor& tensor(sdk::Call& call, int64_t index) const {
    const gantry_tensor* tensor = call.host()->value_tensor(item(call, 0, index));
    if (!tensor) fail("item " + std::to_string(index) + " is no tensor");
    return *tensor;
  }
  [[nodiscard]] Dims part_shape(const gantry_tensor& tensor, int axis) const {
    if (!stacks_) return Dims(sdk::Shape(tensor));
    Dims shape;
    for (int i = 0; i <= static_cast<int>(tensor.rank); ++i) {
      shape.push(i == axis ? 1 : tensor.shape[i < axis ? i : i - 1]);
    }
    return shape;
  }
  void join(sdk::Call& call, int axis, const Dims& shape, std::byte* target) const {
    const AxisView joined(shape.shape(), axis);
    for (int64_t i = 0; i < length(call, 0); ++i) {
      const gantry_tensor& part = tensor(call, i);
      const Dims extents = part_shape(part, axis);
      const AxisView view(extents.shape(), axis);
      if (view.outer * view.block() == 0) continue;
      const int64_t unit = unit_bytes(part.dtype);
      copy_blocks(call, unit, view.outer, view.block(), read_units(call, item(call, 0, i), part),
                  view.block(), target, joined.block());
      target += view.block() * unit;
    }
  }

  int64_t axis_;
  bool stacks_;
};

constexpr sdk::KernelRow kSequenceRows[] = {
    {"SequenceConstruct", 11, sdk::kLatest, sdk::kAllTypes, sdk::make<SequenceConstruct>},
    {"SequenceEmpty", 11, sdk::kLatest, sdk::kAllTypes, sdk::make<SequenceEmpty>},
    {"SequenceAt",
     11,
     sdk::kLatest,
     sdk::kAllTypes,
     sdk::make<SequenceAt>,
     {.signature_inputs = 0b10}},
    {"SequenceInsert",
     11,
     sdk::kLatest,
     sdk::kAllTypes,
     sdk::make<SequenceInsert>,
     {.host_inputs = 0b100}},
    {"SequenceErase",
     11,
     sdk::kLatest,
     sdk::kAllTypes,
     sdk::make<SequenceErase>,
     {.host_inputs = 0b10}},
    {"SequenceLength", 11, sdk::kLatest, sdk::kAllTypes, sdk::make<SequenceLength>},
    {"SplitToSequence",
     11,
     sdk::kLatest,
     sdk::kAllTypes,
     sdk::make<SplitToSequence>,
     {.signature_inputs = 0b10}},
    {"ConcatFromSequence", 11, sdk::kLatest, sdk::kAllTypes, sdk::make<ConcatFromSequence>},
};

}  // namespace

sdk::KernelTable sequence_kernels() { return sdk::table(kSequenceRows); }

}  // namespace gantry::cpu

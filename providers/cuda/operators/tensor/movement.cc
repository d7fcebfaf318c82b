// SPDX-License-Identifier: Apache-2.0
// Operators that move elements by strides: Transpose, Slice, Concat, Split, Expand, Tile,
// DepthToSpace, SpaceToDepth.
#include <algorithm>
#include <numeric>

#include "compile/kernel_texts.h"
#include "kernels/tensor/copy.h"
#include "operators/operators.h"
#include "plan/copy_rows.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

uint64_t offset_bytes(int64_t elements, uint32_t dtype) {
  return static_cast<uint64_t>(elements * bytes_of(dtype));
}

class Transpose final : public Operation {
 public:
  explicit Transpose(const NodeView& node) : perm_(node.get_ints("perm")) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    Extents perm = perm_;
    if (perm.empty()) {
      perm.resize(x.shape.size());
      std::iota(perm.rbegin(), perm.rend(), 0);
    }
    if (perm.size() != x.shape.size()) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "perm is " + text_of(perm) + " for the shape " + text_of(x.shape));
    }
    const Extents dense = dense_strides(x.shape);
    Extents shape;
    Extents strides;
    for (const int64_t axis : perm) {
      const auto from =
          static_cast<size_t>(checked_axis(axis, static_cast<int64_t>(x.shape.size()), "perm"));
      shape.push_back(x.shape[from]);
      strides.push_back(dense[from]);
    }
    const Buffer y = planner.output(0, x.dtype, shape);
    plan_copy(planner, shape, bytes_of(x.dtype), y, dense_strides(shape), Planner::in(0), strides);
  }

 private:
  Extents perm_;
};

class Slice final : public Operation {
 public:
  explicit Slice(const NodeView& node)
      : starts_(node.get_ints("starts")),
        ends_(node.get_ints("ends")),
        axes_(node.get_ints("axes")) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const bool by_inputs = planner.has_input(1);
    const Extents starts = by_inputs ? planner.host_integers(1) : starts_;
    const Extents ends = by_inputs ? planner.host_integers(2) : ends_;
    Extents axes = planner.has_input(3) ? planner.host_integers(3) : axes_;
    const Extents steps =
        planner.has_input(4) ? planner.host_integers(4) : Extents(starts.size(), 1);
    if (axes.empty() && !planner.has_input(3)) {
      axes.resize(starts.size());
      std::iota(axes.begin(), axes.end(), 0);
    }
    Extents shape = x.shape;
    Extents strides = dense_strides(x.shape);
    int64_t first = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<size_t>(
          checked_axis(axes[i], static_cast<int64_t>(x.shape.size()), "an axis"));
      const int64_t extent = x.shape[axis];
      const int64_t step = steps.at(i);
      if (step == 0) throw sdk::Error(GANTRY_INVALID_ARGUMENT, "a step is 0");
      const auto bound = [&](int64_t at, int64_t low, int64_t high) {
        return std::clamp(at < 0 ? at + extent : at, low, std::max(low, high));
      };
      const int64_t start =
          step > 0 ? bound(starts.at(i), 0, extent) : bound(starts.at(i), 0, extent - 1);
      const int64_t end =
          step > 0 ? bound(ends.at(i), 0, extent) : bound(ends.at(i), -1, extent - 1);
      const int64_t length = step > 0 ? end - start : start - end;
      const int64_t size = std::abs(step);
      // An empty axis stays empty; negative starts cannot be resolved on it.
      shape[axis] = extent == 0 || length <= 0 ? 0 : (length - 1) / size + 1;
      first += start * strides[axis];
      strides[axis] *= step;
    }
    const Buffer y = planner.output(0, x.dtype, shape);
    if (count_of(shape) == 0) return;
    plan_copy(planner, shape, bytes_of(x.dtype), y, dense_strides(shape),
              Planner::in(0).at(offset_bytes(first, x.dtype)), strides);
  }

 private:
  Extents starts_;
  Extents ends_;
  Extents axes_;
};

// A copy of [outer, size, inner] between dense tensors. The caller sets pitch and offset on the
// side of the whole tensor.
RowsCopy part_of(const Extents& shape, size_t axis, int64_t size, uint32_t dtype) {
  const int64_t inner = count_of(shape, axis + 1, shape.size()) * bytes_of(dtype);
  RowsCopy part;
  part.rows = count_of(shape, 0, axis);
  part.row_bytes = size * inner;
  part.target_pitch_bytes = part.source_pitch_bytes = part.row_bytes;
  return part;
}

class Concat final : public Operation {
 public:
  explicit Concat(const NodeView& node) : axis_(node.get_int("axis", 0)) {}
  void plan(Planner& planner) const override {
    const InputMetadata& first = planner.input(0);
    const auto axis = static_cast<size_t>(checked_axis(axis_, first.rank(), "axis"));
    Extents shape = first.shape;
    shape[axis] = 0;
    for (int i = 0; i < planner.input_count(); ++i) {
      Extents other = planner.shape(i);
      if (other.size() == shape.size()) {
        shape[axis] += other[axis];
        other[axis] = shape[axis];
      }
      if (other != shape) {
        throw sdk::Error(GANTRY_INVALID_ARGUMENT, "input " + std::to_string(i) + " has the shape " +
                                                      text_of(planner.shape(i)) +
                                                      ", which does not continue " +
                                                      text_of(first.shape));
      }
    }
    const Buffer y = planner.output(0, first.dtype, shape);
    const RowsCopy whole = part_of(shape, axis, shape[axis], first.dtype);
    std::vector<RowsCopy> copies;
    uint64_t done_bytes = 0;
    for (int i = 0; i < planner.input_count(); ++i) {
      RowsCopy part = part_of(shape, axis, planner.shape(i)[axis], first.dtype);
      part.target = y.at(done_bytes);
      part.source = Planner::in(i);
      part.target_pitch_bytes = whole.row_bytes;
      done_bytes += static_cast<uint64_t>(part.row_bytes);
      copies.push_back(part);
    }
    plan_row_copies(planner, copies);
  }

 private:
  int64_t axis_;
};

class Split final : public Operation {
 public:
  explicit Split(const NodeView& node)
      : axis_(node.get_int("axis", 0)),
        sizes_(node.get_ints("split")),
        outputs_(node.output_count()) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const auto axis = static_cast<size_t>(checked_axis(axis_, x.rank(), "axis"));
    Extents sizes = planner.has_input(1) ? planner.host_integers(1) : sizes_;
    if (sizes.empty()) {
      const int64_t each = (x.shape[axis] + outputs_ - 1) / outputs_;
      for (int64_t done = 0; sizes.size() < static_cast<size_t>(outputs_); done += each)
        sizes.push_back(std::clamp<int64_t>(x.shape[axis] - done, 0, each));
    }
    const RowsCopy whole = part_of(x.shape, axis, x.shape[axis], x.dtype);
    std::vector<RowsCopy> copies;
    uint64_t done_bytes = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      RowsCopy part = part_of(x.shape, axis, sizes[i], x.dtype);
      part.source = Planner::in(0).at(done_bytes);
      part.source_pitch_bytes = whole.row_bytes;
      done_bytes += static_cast<uint64_t>(part.row_bytes);
      if (!planner.wants(static_cast<int>(i))) continue;
      Extents shape = x.shape;
      shape[axis] = sizes[i];
      part.target = planner.output(static_cast<int>(i), x.dtype, std::move(shape));
      copies.push_back(part);
    }
    const int64_t done = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
    if (done != x.shape[axis]) {
      throw sdk::Error(
          GANTRY_INVALID_ARGUMENT,
          "the parts are " + text_of(sizes) + " of an axis of " + std::to_string(x.shape[axis]));
    }
    plan_row_copies(planner, copies);
  }

 private:
  int64_t axis_;
  Extents sizes_;
  int64_t outputs_;
};

class Expand final : public Operation {
 public:
  explicit Expand(const NodeView&) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const Extents shape = broadcast(x.shape, planner.host_integers(1));
    const Buffer y = planner.output(0, x.dtype, shape);
    plan_copy(planner, shape, bytes_of(x.dtype), y, dense_strides(shape), Planner::in(0),
              broadcast_strides(x.shape, shape));
  }
};

// A strided copy with two axes per axis: repetition, then position.
class Tile final : public Operation {
 public:
  explicit Tile(const NodeView&) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const Extents repeats = planner.host_integers(1);
    if (repeats.size() != x.shape.size()) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the repeats are " + text_of(repeats) +
                                                    " for the shape " + text_of(x.shape));
    }
    const Extents dense = dense_strides(x.shape);
    Extents shape;
    Extents walked;
    Extents strides;
    for (size_t i = 0; i < repeats.size(); ++i) {
      shape.push_back(x.shape[i] * repeats[i]);
      walked.insert(walked.end(), {repeats[i], x.shape[i]});
      strides.insert(strides.end(), {0, dense[i]});
    }
    const Buffer y = planner.output(0, x.dtype, shape);
    plan_copy(planner, walked, bytes_of(x.dtype), y, dense_strides(walked), Planner::in(0),
              strides);
  }
};

// A transpose of six axes.
class Blocks final : public Operation {
 public:
  explicit Blocks(const NodeView& node)
      : block_(node.get_int("blocksize", 1)),
        is_to_depth_(node.op_type() == "SpaceToDepth"),
        is_columns_first_(node.get_string("mode", "DCR") == "CRD") {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    if (x.rank() != 4 || block_ < 1)
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the shape " + text_of(x.shape) + " has no blocks");
    const int64_t n = x.shape[0], c = x.shape[1], h = x.shape[2], w = x.shape[3], b = block_;
    Extents seen;   // the input's shape with the block as axes of its own
    Extents order;  // of those axes in the result
    Extents shape;
    if (is_to_depth_) {
      seen = {n, c, h / b, b, w / b, b};
      order = is_columns_first_ ? Extents{0, 1, 3, 5, 2, 4} : Extents{0, 3, 5, 1, 2, 4};
      shape = {n, c * b * b, h / b, w / b};
    } else {
      seen = is_columns_first_ ? Extents{n, c / (b * b), b, b, h, w}
                               : Extents{n, b, b, c / (b * b), h, w};
      order = is_columns_first_ ? Extents{0, 1, 4, 2, 5, 3} : Extents{0, 3, 4, 1, 5, 2};
      shape = {n, c / (b * b), h * b, w * b};
    }
    if (count_of(seen) != count_of(x.shape)) {
      throw sdk::Error(
          GANTRY_INVALID_ARGUMENT,
          "the shape " + text_of(x.shape) + " is no multiple of blocks of " + std::to_string(b));
    }
    const Extents dense = dense_strides(seen);
    Extents walked;
    Extents strides;
    for (const int64_t axis : order) {
      walked.push_back(seen[static_cast<size_t>(axis)]);
      strides.push_back(dense[static_cast<size_t>(axis)]);
    }
    const Buffer y = planner.output(0, x.dtype, shape);
    plan_copy(planner, walked, bytes_of(x.dtype), y, dense_strides(walked), Planner::in(0),
              strides);
  }

 private:
  int64_t block_;
  bool is_to_depth_;
  bool is_columns_first_;
};

constexpr sdk::DTypeSet kMoved = sdk::kFixedSize;

constexpr sdk::KernelRow kRows[] = {
    {"Concat", 4, sdk::kLatest, kMoved, make<Concat>},
    {"DepthToSpace", 1, sdk::kLatest, kMoved, make<Blocks>},
    {"Expand", 8, sdk::kLatest, kMoved, make<Expand, 2>, host_marks(2)},
    {"Slice", 1, sdk::kLatest, kMoved, make<Slice, 30>, host_marks(30)},
    {"SpaceToDepth", 1, sdk::kLatest, kMoved, make<Blocks>},
    {"Split", 2, sdk::kLatest, kMoved, make<Split, 2>, host_marks(2)},
    {"Tile", 6, sdk::kLatest, kMoved, make<Tile, 2>, host_marks(2)},
    {"Transpose", 1, sdk::kLatest, kMoved, make<Transpose>},
};

}  // namespace

sdk::KernelTable movement_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda

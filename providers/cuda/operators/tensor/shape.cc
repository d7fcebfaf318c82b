// SPDX-License-Identifier: Apache-2.0
// Operators that reinterpret a tensor, or return its shape: Reshape, Squeeze, Shape, Size and
// others.
#include <algorithm>
#include <limits>

#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

// The same bytes under another shape; in place where the host grants it.
class Repeat : public Operation {
 public:
  void plan(Planner& planner) const final {
    const InputMetadata& x = planner.input(0);
    const Extents shape = result(planner);
    if (count_of(shape) != x.element_count()) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "the shape " + text_of(x.shape) + " cannot become " + text_of(shape));
    }
    const Buffer y = planner.output(0, dtype(x.dtype), shape);
    planner.copy(y, Planner::in(0), static_cast<uint64_t>(x.element_count() * bytes_of(x.dtype)));
  }

 protected:
  [[nodiscard]] virtual Extents result(const Planner& planner) const = 0;
  [[nodiscard]] virtual uint32_t dtype(uint32_t of_input) const { return of_input; }
};

class Reshape final : public Repeat {
 public:
  explicit Reshape(const NodeView& node) : allow_zero_(node.get_int("allowzero", 0) != 0) {}

 protected:
  [[nodiscard]] Extents result(const Planner& planner) const override {
    const Extents& from = planner.shape(0);
    Extents to = planner.host_integers(1);
    for (size_t i = 0; i < to.size(); ++i) {
      if (to[i] == 0 && !allow_zero_ && i < from.size()) to[i] = from[i];
    }
    const auto open = std::find(to.begin(), to.end(), -1);
    if (open != to.end()) {
      *open = 1;
      const int64_t known = count_of(to);
      *open = known == 0 ? 0 : count_of(from) / known;
    }
    return to;
  }

 private:
  bool allow_zero_;
};

class Flatten final : public Repeat {
 public:
  explicit Flatten(const NodeView& node) : axis_(node.get_int("axis", 1)) {}

 protected:
  [[nodiscard]] Extents result(const Planner& planner) const override {
    const Extents& x = planner.shape(0);
    const auto rank = static_cast<int64_t>(x.size());
    const int64_t axis = axis_ == rank ? rank : checked_axis(axis_, rank + 1, "axis");
    const auto split = static_cast<size_t>(axis_ < 0 ? axis_ + rank : axis);
    return {count_of(x, 0, split), count_of(x, split, x.size())};
  }

 private:
  int64_t axis_;
};

// The axes, from the attribute or from input 1.
Extents axes_of(const Planner& planner, const Extents& attribute, int64_t rank) {
  Extents axes = planner.has_input(1) ? planner.host_integers(1) : attribute;
  for (int64_t& axis : axes) axis = checked_axis(axis, rank, "an axis");
  std::sort(axes.begin(), axes.end());
  return axes;
}

class Squeeze final : public Repeat {
 public:
  explicit Squeeze(const NodeView& node) : axes_(node.get_ints("axes")) {}

 protected:
  [[nodiscard]] Extents result(const Planner& planner) const override {
    const Extents& x = planner.shape(0);
    const Extents axes = axes_of(planner, axes_, static_cast<int64_t>(x.size()));
    const bool is_all = axes.empty() && !planner.has_input(1);
    Extents shape;
    for (size_t i = 0; i < x.size(); ++i) {
      const bool is_named = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i));
      if (is_all ? x[i] != 1 : !is_named) shape.push_back(x[i]);
    }
    return shape;
  }

 private:
  Extents axes_;
};

class Unsqueeze final : public Repeat {
 public:
  explicit Unsqueeze(const NodeView& node) : axes_(node.get_ints("axes")) {}

 protected:
  [[nodiscard]] Extents result(const Planner& planner) const override {
    const Extents& x = planner.shape(0);
    const size_t added = planner.has_input(1) ? planner.host_integers(1).size() : axes_.size();
    const Extents axes = axes_of(planner, axes_, static_cast<int64_t>(x.size() + added));
    Extents shape = x;
    for (const int64_t axis : axes) shape.insert(shape.begin() + axis, 1);
    return shape;
  }

 private:
  Extents axes_;
};

class BitCast final : public Repeat {
 public:
  explicit BitCast(const NodeView& node)
      : to_(static_cast<uint32_t>(node.get_int("to", GANTRY_UNDEFINED))) {}

 protected:
  [[nodiscard]] Extents result(const Planner& planner) const override { return planner.shape(0); }
  [[nodiscard]] uint32_t dtype(uint32_t) const override { return to_; }

 private:
  uint32_t to_;
};

// The extents of axes [start, end), in host memory.
class Shape final : public Operation {
 public:
  explicit Shape(const NodeView& node)
      : start_(node.get_int("start", 0)),
        end_(node.get_int("end", std::numeric_limits<int64_t>::max())) {}
  void plan(Planner& planner) const override {
    const Extents& x = planner.shape(0);
    const auto rank = static_cast<int64_t>(x.size());
    const auto bound = [&](int64_t axis) {
      return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
    };
    const int64_t start = bound(start_);
    const Extents part(x.begin() + start, x.begin() + std::max(start, bound(end_)));
    planner.host_output(0, GANTRY_INT64, {static_cast<int64_t>(part.size())}, part.data(),
                        part.size() * sizeof(int64_t));
  }

 private:
  int64_t start_;
  int64_t end_;
};

class Size final : public Operation {
 public:
  explicit Size(const NodeView&) {}
  void plan(Planner& planner) const override {
    const int64_t count = planner.input(0).element_count();
    planner.host_output(0, GANTRY_INT64, {}, &count, sizeof(count));
  }
};

std::string is_of_one_size(const NodeView& node) {
  const auto to = static_cast<uint32_t>(node.get_int("to", GANTRY_UNDEFINED));
  const uint32_t from = node.input(0).dtype();
  return (sdk::dtype_bit(from) & sdk::kFixedSize) && (sdk::dtype_bit(to) & sdk::kFixedSize) &&
                 bytes_of(from) == bytes_of(to)
             ? ""
             : "elements of the one type are not known to have as many bytes as those of the other";
}

// Only the shape is read; the result is in host memory (Claims::pass_on).
constexpr sdk::Marks kShapeOnly = [] {
  sdk::Marks marks;
  marks.shape_only_inputs = 1;
  return marks;
}();

constexpr sdk::Marks repeating(uint64_t host_inputs) {
  sdk::Marks marks = host_marks(host_inputs);
  marks.repeats = 0;
  return marks;
}

constexpr sdk::KernelRow kRows[] = {
    {"BitCast", 26, sdk::kLatest, sdk::kFixedSize, make<BitCast>, repeating(0), is_of_one_size},
    {"Flatten", 1, sdk::kLatest, sdk::kFixedSize, make<Flatten>, repeating(0)},
    {"Reshape", 5, sdk::kLatest, sdk::kFixedSize, make<Reshape, 2>, repeating(2)},
    {"Shape", 1, sdk::kLatest, sdk::kFixedSize | sdk::kPacked, make<Shape>, kShapeOnly},
    {"Size", 1, sdk::kLatest, sdk::kFixedSize | sdk::kPacked, make<Size>, kShapeOnly},
    {"Squeeze", 1, sdk::kLatest, sdk::kFixedSize, make<Squeeze, 2>, repeating(2)},
    {"Unsqueeze", 1, sdk::kLatest, sdk::kFixedSize, make<Unsqueeze, 2>, repeating(2)},
};

}  // namespace

sdk::KernelTable shape_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda

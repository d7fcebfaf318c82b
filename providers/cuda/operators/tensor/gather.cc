// SPDX-License-Identifier: Apache-2.0
// Operators that read or write by index: Gather, GatherElements, GatherND, ReverseSequence,
// ScatterElements, ScatterND. An index out of range reads the nearest element and writes nothing: a
// kernel cannot report an error.
#include <algorithm>

#include "compile/kernel_texts.h"
#include "kernels/tensor/copy.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

std::string defines(bool is_small, const std::string& which, const InputMetadata& indices,
                    size_t rank) {
  return std::string("\ntypedef ") + index_type(is_small) + " Index;\n#define " + which +
         "\n#define RANK " + std::to_string(std::max<size_t>(rank, 1)) + "\ntypedef " +
         type_name(indices.dtype) + " Number;\n";
}

// Launches one thread per word of `bytes` bytes of the result.
template <class Parameters>
void launch_gather(Planner& planner, const std::string& which, const Parameters& parameters,
                   const Buffer& y, int64_t bytes, size_t rank = 1) {
  const bool is_small = parameters.count < int64_t{1} << 31;
  const std::string source =
      kernel_source({"index.h", "index.cu", "copy.h", "copy.cu"},
                    defines(is_small, which, planner.input(1), rank) + "typedef " +
                        word_name(bytes) + " Word;\n" + std::string(kernel_text("gather.cu")));
  planner.launch(source, blocks_for(planner, parameters.count), kThreads, parameters,
                 {{&parameters.target, y},
                  {&parameters.source, Planner::in(0)},
                  {&parameters.indices, Planner::in(1)}});
}

// Size in bytes of the words by which rows of `inner` elements are copied, and their number per
// row.
int64_t widened_bytes(int64_t element_bytes, int64_t& inner) {
  while (element_bytes < 16 && inner > 0 && inner % 2 == 0) {
    inner /= 2;
    element_bytes *= 2;
  }
  return element_bytes;
}

void check_rank(size_t rank) {
  if (rank > MOST_AXES) {
    throw sdk::Error(GANTRY_UNSUPPORTED, "a tensor of " + std::to_string(rank) +
                                             " axes, more than " + std::to_string(MOST_AXES));
  }
}

// Out-of-range indices read the nearest element, which an empty axis does not have.
void check_extent(int64_t extent, int64_t read) {
  if (extent > 0 || read == 0) return;
  throw sdk::Error(
      GANTRY_INVALID_ARGUMENT,
      std::to_string(read) + " elements are to be read along an axis of the data that has none");
}

class Gather final : public Operation {
 public:
  explicit Gather(const NodeView& node) : axis_(node.get_int("axis", 0)) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const InputMetadata& indices = planner.input(1);
    const auto axis = static_cast<size_t>(checked_axis(axis_, x.rank(), "axis"));
    Extents shape(x.shape.begin(), x.shape.begin() + static_cast<int64_t>(axis));
    shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
    shape.insert(shape.end(), x.shape.begin() + static_cast<int64_t>(axis) + 1, x.shape.end());
    const Buffer y = planner.output(0, x.dtype, shape);
    if (count_of(shape) == 0) return;
    int64_t inner = count_of(x.shape, axis + 1, x.shape.size());
    const int64_t bytes = widened_bytes(bytes_of(x.dtype), inner);
    GatherParameters parameters = {};
    parameters.count = count_of(x.shape, 0, axis) * indices.element_count() * inner;
    parameters.inner = divisor_of(inner);
    parameters.index_count = divisor_of(indices.element_count());
    parameters.axis_extent = x.shape[axis];
    check_extent(parameters.axis_extent, parameters.count);
    launch_gather(planner, "GATHER", parameters, y, bytes);
  }

 private:
  int64_t axis_;
};

// Strides of the data along the axes of the indices, 0 along `axis`.
GatherElementsParameters elements_of(const InputMetadata& data, const InputMetadata& indices,
                                     size_t axis) {
  check_rank(data.shape.size());
  if (indices.shape.size() != data.shape.size()) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the indices have the shape " +
                                                  text_of(indices.shape) + " for data of " +
                                                  text_of(data.shape));
  }
  GatherElementsParameters parameters = {};
  parameters.count = indices.element_count();
  Walk walk{indices.shape, {dense_strides(data.shape)}};
  parameters.axis_stride = walk.strides[0][axis];
  parameters.axis_extent = data.shape[axis];
  walk.strides[0][axis] = 0;
  walk.write_extents(parameters.extents);
  walk.write_strides(0, parameters.strides);
  return parameters;
}

class GatherElements final : public Operation {
 public:
  explicit GatherElements(const NodeView& node) : axis_(node.get_int("axis", 0)) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const InputMetadata& indices = planner.input(1);
    const auto axis = static_cast<size_t>(checked_axis(axis_, x.rank(), "axis"));
    const Buffer y = planner.output(0, x.dtype, indices.shape);
    const GatherElementsParameters parameters = elements_of(x, indices, axis);
    check_extent(parameters.axis_extent, parameters.count);
    launch_gather(planner, "GATHER_ELEMENTS", parameters, y, bytes_of(x.dtype), x.shape.size());
  }

 private:
  int64_t axis_;
};

// Index tuples behind `batch` common axes.
GatherNdParameters tuples_of(const InputMetadata& data, const InputMetadata& indices,
                             size_t batch) {
  const auto depth = static_cast<size_t>(indices.shape.empty() ? 0 : indices.shape.back());
  if (indices.shape.size() <= batch || batch + depth > data.shape.size() || depth > MOST_AXES) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, "indices of the shape " + text_of(indices.shape) +
                                                  " do not fit data of " + text_of(data.shape));
  }
  GatherNdParameters parameters = {};
  const Extents dense = dense_strides(data.shape);
  parameters.slice = std::max<int64_t>(1, count_of(data.shape, batch + depth, data.shape.size()));
  parameters.tuples_a_batch =
      std::max<int64_t>(1, count_of(indices.shape, batch, indices.shape.size() - 1));
  parameters.batch_stride = count_of(data.shape, batch, data.shape.size());
  parameters.depth = static_cast<int>(depth);
  for (size_t d = 0; d < depth; ++d) {
    parameters.extents[d] = data.shape[batch + d];
    parameters.strides[d] = dense[batch + d];
  }
  return parameters;
}

class GatherND final : public Operation {
 public:
  explicit GatherND(const NodeView& node)
      : batch_(static_cast<size_t>(node.get_int("batch_dims", 0))) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const InputMetadata& indices = planner.input(1);
    GatherNdParameters parameters = tuples_of(x, indices, batch_);
    Extents shape(indices.shape.begin(), indices.shape.end() - 1);
    shape.insert(shape.end(), x.shape.begin() + static_cast<int64_t>(batch_) + parameters.depth,
                 x.shape.end());
    const Buffer y = planner.output(0, x.dtype, shape);
    parameters.count = count_of(shape);
    for (int d = 0; d < parameters.depth; ++d)
      check_extent(parameters.extents[d], parameters.count);
    launch_gather(planner, "GATHER_ND", parameters, y, bytes_of(x.dtype));
  }

 private:
  size_t batch_;
};

// Reverses the first elements of each sequence; a length beyond the axis means the whole axis.
class ReverseSequence final : public Operation {
 public:
  explicit ReverseSequence(const NodeView& node)
      : is_time_first_(node.get_int("time_axis", 0) == 0) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    if (x.rank() < 2 || planner.shape(1) != Extents{x.shape[is_time_first_ ? 1 : 0]}) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "lengths of the shape " +
                                                    text_of(planner.shape(1)) +
                                                    " do not fit sequences of " + text_of(x.shape));
    }
    const Buffer y = planner.output(0, x.dtype, x.shape);
    if (x.element_count() == 0) return;
    int64_t inner = count_of(x.shape, 2, x.shape.size());
    const int64_t bytes = widened_bytes(bytes_of(x.dtype), inner);
    ReverseParameters parameters = {};
    parameters.count = x.shape[0] * x.shape[1] * inner;
    parameters.inner = divisor_of(inner);
    parameters.columns = divisor_of(x.shape[1]);
    parameters.times = x.shape[is_time_first_ ? 0 : 1];
    parameters.is_time_first = is_time_first_ ? 1 : 0;
    launch_gather(planner, "REVERSE", parameters, y, bytes);
  }

 private:
  bool is_time_first_;
};

// Copies the data, then writes the updates.
class Scatter final : public Operation {
 public:
  explicit Scatter(const NodeView& node)
      : is_by_tuples_(node.op_type() == "ScatterND"),
        axis_(node.get_int("axis", 0)),
        reduction_(node.get_string("reduction", "none")) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const InputMetadata& indices = planner.input(1);
    const Buffer y = planner.output(0, x.dtype, x.shape);
    planner.copy(y, Planner::in(0), static_cast<uint64_t>(x.element_count() * bytes_of(x.dtype)));
    if (is_by_tuples_) {
      GatherNdParameters parameters = tuples_of(x, indices, 0);
      parameters.count = planner.input(2).element_count();
      return launch_updates(planner, "SCATTER_ND", parameters, y);
    }
    const auto axis = static_cast<size_t>(checked_axis(axis_, x.rank(), "axis"));
    const GatherElementsParameters parameters = elements_of(x, indices, axis);
    launch_updates(planner, "SCATTER_ELEMENTS", parameters, y);
  }

 private:
  template <class Parameters>
  void launch_updates(Planner& planner, const std::string& which, const Parameters& parameters,
                      const Buffer& y) const {
    planner.launch(source(parameters.count, which, planner.input(1), planner.input(0)),
                   blocks_for(planner, parameters.count), kThreads, parameters,
                   {{&parameters.target, y},
                    {&parameters.source, Planner::in(2)},
                    {&parameters.indices, Planner::in(1)}});
  }

  [[nodiscard]] std::string source(int64_t count, const std::string& which,
                                   const InputMetadata& indices, const InputMetadata& data) const {
    std::string text = defines(count < int64_t{1} << 31, which, indices, data.shape.size()) +
                       "typedef " + type_name(data.dtype) + " T;\n";
    if (reduction_ == "none") text += "#define PLAIN\n";
    if (reduction_ == "add") text += "#define COMBINE(a, b) ((a) + (b))\n";
    if (reduction_ == "mul") text += "#define COMBINE(a, b) ((a) * (b))\n";
    if (reduction_ == "max") text += "#define COMBINE(a, b) larger(a, b)\n";
    if (reduction_ == "min") text += "#define COMBINE(a, b) smaller(a, b)\n";
    return kernel_source({"index.h", "index.cu", "copy.h", "copy.cu"},
                         text + std::string(kernel_text("scatter.cu")));
  }

  bool is_by_tuples_;
  int64_t axis_;
  std::string reduction_;
};

std::string has_integers(const NodeView& node) {
  const uint32_t dtype = node.input(1).dtype();
  return dtype == GANTRY_INT64 || dtype == GANTRY_INT32 ? ""
                                                        : "the type of the indices is not known";
}

std::string has_known_reduction(const NodeView& node) {
  const std::string reduction = node.get_string("reduction", "none");
  for (const char* known : {"none", "add", "mul", "max", "min"}) {
    if (reduction == known) return has_integers(node);
  }
  return "the reduction " + reduction + " is not known";
}

std::string has_first_axes(const NodeView& node) {
  const int64_t time = node.get_int("time_axis", 0);
  const int64_t batch = node.get_int("batch_axis", 1);
  return (time == 0 && batch == 1) || (time == 1 && batch == 0)
             ? ""
             : "the axes of time and batch are not 0 and 1";
}

constexpr sdk::DTypeSet kMoved = sdk::kFixedSize;

constexpr sdk::KernelRow kGather[] = {
    {"Gather", 1, sdk::kLatest, kMoved, make<Gather>, {}, has_integers},
    {"GatherElements", 11, sdk::kLatest, kMoved, make<GatherElements>, {}, has_integers},
    {"GatherND", 11, sdk::kLatest, kMoved, make<GatherND>, {}, has_integers},
    {"ReverseSequence", 10, sdk::kLatest, kMoved, make<ReverseSequence>, {}, has_first_axes},
};

constexpr sdk::Marks overwriting() {
  sdk::Marks marks;
  marks.overwrites = 1;
  return marks;
}

constexpr sdk::KernelRow kScatter[] = {
    {"Scatter", 9, sdk::kLatest, kComputed, make<Scatter>, overwriting(), has_known_reduction},
    {"ScatterElements", 11, sdk::kLatest, kComputed, make<Scatter>, overwriting(),
     has_known_reduction},
    {"ScatterND", 11, sdk::kLatest, kComputed, make<Scatter>, overwriting(), has_known_reduction},
};

}  // namespace

sdk::KernelTable gather_kernels() { return sdk::table(kGather); }
sdk::KernelTable scatter_kernels() { return sdk::table(kScatter); }

}  // namespace gantry::cuda

// SPDX-License-Identifier: Apache-2.0
// Operators whose results depend on element positions: Range, ConstantOfShape, EyeLike, Trilu,
// OneHot, CumSum, TopK.
#include "kernels/tensor/generate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "compile/kernel_texts.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;
using Addresses = std::vector<std::pair<const void* const*, Buffer>>;

void launch_generate(Planner& planner, const std::string& which, uint32_t dtype,
                     const GenerateParameters& parameters, int64_t threads,
                     const Addresses& addresses) {
  const std::string body = "\n#define " + which + "\ntypedef " + type_name(dtype) +
                           " T;\ntypedef " + computed_name(dtype) + " C;\n" +
                           std::string(kernel_text("generate.cu"));
  planner.launch(kernel_source({"generate.h"}, body), blocks_for(planner, threads), kThreads,
                 parameters, addresses);
}

class Range final : public Operation {
 public:
  explicit Range(const NodeView&) {}
  void plan(Planner& planner) const override {
    const uint32_t dtype = planner.input(0).dtype;
    GenerateParameters parameters = {};
    const bool is_float = dtype == GANTRY_FLOAT || dtype == GANTRY_DOUBLE;
    parameters.start = planner.host_number(0);
    parameters.step = planner.host_number(2);
    if (parameters.step == 0) throw sdk::Error(GANTRY_INVALID_ARGUMENT, "delta is 0");
    parameters.start_integer = static_cast<int64_t>(parameters.start);
    parameters.step_integer = static_cast<int64_t>(parameters.step);
    parameters.count = static_cast<int64_t>(
        std::max(0.0, std::ceil((planner.host_number(1) - parameters.start) / parameters.step)));
    const Buffer y = planner.output(0, dtype, {parameters.count});
    launch_generate(planner, std::string("RANGE\n#define IS_FLOAT ") + (is_float ? "1" : "0"),
                    dtype, parameters, parameters.count, {{&parameters.result, y}});
  }
};

class ConstantOfShape final : public Operation {
 public:
  explicit ConstantOfShape(const NodeView& node) : dtype_(node.output(0).dtype()) {
    const gantry_value* value = node.get_tensor("value");
    const gantry_tensor* tensor = value ? node.host()->value_tensor(value) : nullptr;
    if (tensor) std::memcpy(&bits_, tensor->data, static_cast<size_t>(bytes_of(dtype_)));
  }
  void plan(Planner& planner) const override {
    const Extents shape = planner.host_integers(0);
    const Buffer y = planner.output(0, dtype_, shape);
    plan_fill(planner, count_of(shape), bytes_of(dtype_), y, bits_);
  }

 private:
  uint32_t dtype_;
  uint64_t bits_ = 0;
};

class EyeLike final : public Operation {
 public:
  explicit EyeLike(const NodeView& node)
      : dtype_(node.output(0).dtype()), diagonal_(node.get_int("k", 0)) {}
  void plan(Planner& planner) const override {
    const Extents& shape = planner.shape(0);
    if (shape.size() != 2)
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the shape " + text_of(shape) + " is no matrix's");
    GenerateParameters parameters = {};
    parameters.count = count_of(shape);
    parameters.columns = std::max<int64_t>(shape[1], 1);
    parameters.diagonal = diagonal_;
    const Buffer y = planner.output(0, dtype_, shape);
    launch_generate(planner, "EYE", dtype_, parameters, parameters.count,
                    {{&parameters.result, y}});
  }

 private:
  uint32_t dtype_;
  int64_t diagonal_;
};

class Trilu final : public Operation {
 public:
  explicit Trilu(const NodeView& node) : is_upper_(node.get_int("upper", 1) != 0) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    if (x.rank() < 2) throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the input is no matrix");
    GenerateParameters parameters = {};
    parameters.count = x.element_count();
    parameters.rows = std::max<int64_t>(x.shape[x.shape.size() - 2], 1);
    parameters.columns = std::max<int64_t>(x.shape.back(), 1);
    parameters.diagonal = planner.has_input(1) ? planner.host_integers(1).at(0) : 0;
    parameters.is_upper = is_upper_ ? 1 : 0;
    const Buffer y = planner.output(0, x.dtype, x.shape);
    launch_generate(planner, "TRILU", x.dtype, parameters, parameters.count,
                    {{&parameters.result, y}, {&parameters.source, Planner::in(0)}});
  }

 private:
  bool is_upper_;
};

class OneHot final : public Operation {
 public:
  explicit OneHot(const NodeView& node) : axis_(node.get_int("axis", -1)) {}
  void plan(Planner& planner) const override {
    const InputMetadata& indices = planner.input(0);
    const uint32_t dtype = planner.input(2).dtype;
    const auto axis = static_cast<size_t>(checked_axis(axis_, indices.rank() + 1, "axis"));
    GenerateParameters parameters = {};
    parameters.axis = static_cast<int64_t>(planner.host_number(1));
    parameters.inner = std::max<int64_t>(1, count_of(indices.shape, axis, indices.shape.size()));
    Extents shape = indices.shape;
    shape.insert(shape.begin() + static_cast<int64_t>(axis), parameters.axis);
    parameters.count = count_of(shape);
    const Buffer y = planner.output(0, dtype, shape);
    launch_generate(planner, "ONE_HOT\ntypedef " + type_name(indices.dtype) + " Number;", dtype,
                    parameters, parameters.count,
                    {{&parameters.result, y},
                     {&parameters.source, Planner::in(0)},
                     {&parameters.values, Planner::in(2)}});
  }

 private:
  int64_t axis_;
};

class Cumulative final : public Operation {
 public:
  explicit Cumulative(const NodeView& node)
      : is_sum_(node.op_type() == "CumSum"),
        is_exclusive_(node.get_int("exclusive", 0) != 0),
        is_reversed_(node.get_int("reverse", 0) != 0) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const auto axis =
        static_cast<size_t>(checked_axis(planner.host_integers(1).at(0), x.rank(), "axis"));
    GenerateParameters parameters = {};
    parameters.axis = x.shape[axis];
    parameters.inner = std::max<int64_t>(1, count_of(x.shape, axis + 1, x.shape.size()));
    parameters.count = parameters.axis == 0 ? 0 : x.element_count() / parameters.axis;
    parameters.is_exclusive = is_exclusive_ ? 1 : 0;
    parameters.is_reversed = is_reversed_ ? 1 : 0;
    const Buffer y = planner.output(0, x.dtype, x.shape);
    const Addresses addresses = {{&parameters.result, y}, {&parameters.source, Planner::in(0)}};
    // One thread per line is latency-bound, so it takes many lines to be faster.
    if (parameters.axis < kLeastOfBlock || parameters.count >= kLinesOfThreads) {
      launch_generate(planner, is_sum_ ? "CUM_SUM" : "CUM_PROD", x.dtype, parameters,
                      parameters.count, addresses);
      return;
    }
    const std::string body =
        "\ntypedef " + type_name(x.dtype) + " T;\ntypedef " + computed_name(x.dtype) +
        " C;\n#define IDENTITY (C)" + (is_sum_ ? "0" : "1") + "\n#define COMBINE(a, b) ((a) " +
        (is_sum_ ? "+" : "*") + " (b))\n" + std::string(kernel_text("scan.cu"));
    planner.launch(kernel_source({"generate.h"}, body), parameters.count,
                   threads_for_row(parameters.axis), parameters, addresses);
  }

 private:
  static constexpr int64_t kLeastOfBlock = 16;
  static constexpr int64_t kLinesOfThreads = 4096;

  bool is_sum_;
  bool is_exclusive_;
  bool is_reversed_;
};

class TopK final : public Operation {
 public:
  explicit TopK(const NodeView& node)
      : axis_(node.get_int("axis", -1)), is_largest_(node.get_int("largest", 1) != 0) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const auto axis = static_cast<size_t>(checked_axis(axis_, x.rank(), "axis"));
    TopKParameters parameters = {};
    parameters.k = planner.host_integers(1).at(0);
    parameters.length = x.shape[axis];
    parameters.stride = std::max<int64_t>(1, count_of(x.shape, axis + 1, x.shape.size()));
    parameters.rows = count_of(x.shape, 0, axis) * count_of(x.shape, axis + 1, x.shape.size());
    if (parameters.k < 0 || parameters.k > parameters.length) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "k is " + std::to_string(parameters.k) +
                                                    " for an axis of " +
                                                    std::to_string(parameters.length));
    }
    Extents shape = x.shape;
    shape[axis] = parameters.k;
    Addresses addresses = {{&parameters.source, Planner::in(0)}};
    if (planner.wants(0))
      addresses.emplace_back(&parameters.values, planner.output(0, x.dtype, shape));
    if (planner.wants(1)) {
      addresses.emplace_back(reinterpret_cast<const void* const*>(&parameters.numbers),
                             planner.output(1, GANTRY_INT64, shape));
    }
    if (parameters.k == 0) return;
    if (const int64_t size = size_of_scratch(parameters, computed_bytes(x.dtype)); size > 0) {
      // If a row fits, a thread loads all of its elements at once.
      const int64_t threads = size / (parameters.length <= size ? kItems : 2 * kItems);
      const std::string given = "#define SIZE " + std::to_string(size) + "\n#define ITEMS " +
                                std::to_string(kItems) + "\n";
      return launch(planner, parameters, addresses, threads, "int",
                    given + std::string(kernel_text("topk_sort.cu")));
    }
    launch(planner, parameters, addresses, kThreads, "i64", std::string(kernel_text("topk.cu")));
  }

 private:
  static constexpr int64_t kItems = 4;

  static int64_t computed_bytes(uint32_t dtype) { return bytes_of(dtype) == 8 ? 8 : 4; }

  // Elements that a block sorts at once, with their indices, in 32 KiB of shared memory; 0: the
  // first k alone fill it.
  static int64_t size_of_scratch(const TopKParameters& p, int64_t bytes) {
    const int64_t most = 16384 / bytes;
    if (p.length <= most)
      return std::max<int64_t>(128, int64_t(std::bit_ceil(static_cast<uint64_t>(p.length))));
    return p.k <= most / 2 && p.length < int64_t{1} << 31 ? most : 0;
  }

  void launch(Planner& planner, const TopKParameters& parameters, const Addresses& addresses,
              int64_t threads, const char* position, const std::string& text) const {
    const uint32_t dtype = planner.input(0).dtype;
    const std::string body = "\ntypedef " + type_name(dtype) + " T;\ntypedef " +
                             computed_name(dtype) + " C;\ntypedef " + position +
                             " Place;\n#define IS_LARGEST " + (is_largest_ ? "1" : "0") + "\n" +
                             std::string(kernel_text("topk_order.cu")) + text;
    planner.launch(kernel_source({"generate.h"}, body),
                   std::min<int64_t>(parameters.rows, int64_t{1} << 20), static_cast<int>(threads),
                   parameters, addresses);
  }

  int64_t axis_;
  bool is_largest_;
};

std::string has_known_output(const NodeView& node) {
  return sdk::dtype_bit(node.output(0).dtype()) & kComputed ? ""
                                                            : "the type of the output is not known";
}

constexpr sdk::DTypeSet kIndices =
    sdk::dtypes(GANTRY_INT64, GANTRY_INT32, GANTRY_FLOAT, GANTRY_INT8, GANTRY_UINT8);
constexpr sdk::DTypeSet kRanged =
    sdk::dtypes(GANTRY_FLOAT, GANTRY_DOUBLE, GANTRY_INT16, GANTRY_INT32, GANTRY_INT64);
constexpr sdk::DTypeSet kSummed =
    sdk::kFloats | sdk::dtypes(GANTRY_INT32, GANTRY_INT64, GANTRY_UINT32, GANTRY_UINT64);

// Only the type of the input is used.
constexpr sdk::Marks kShapeOnly = [] {
  sdk::Marks marks;
  marks.shape_only_inputs = 1;
  return marks;
}();

constexpr sdk::KernelRow kRows[] = {
    {"ConstantOfShape", 9, sdk::kLatest, sdk::dtypes(GANTRY_INT64), make<ConstantOfShape, 1>,
     host_marks(1), has_known_output},
    {"CumProd", 26, sdk::kLatest, kSummed, make<Cumulative, 2>, host_marks(2)},
    {"CumSum", 11, sdk::kLatest, kSummed, make<Cumulative, 2>, host_marks(2)},
    {"EyeLike", 9, sdk::kLatest, kComputed, make<EyeLike>, kShapeOnly, has_known_output},
    {"OneHot", 9, sdk::kLatest, kIndices, make<OneHot, 2>, host_marks(2), has_known_output},
    {"Range", 11, sdk::kLatest, kRanged, make<Range, 7>, host_marks(7)},
    {"TopK", 10, sdk::kLatest, sdk::kNumbers, make<TopK, 2>, host_marks(2)},
    {"Trilu", 14, sdk::kLatest, kComputed, make<Trilu, 2>, host_marks(2)},
};

}  // namespace

sdk::KernelTable generate_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda

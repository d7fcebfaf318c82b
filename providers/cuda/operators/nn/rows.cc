// SPDX-License-Identifier: Apache-2.0
// Operators along one axis: Softmax, LogSoftmax, Hardmax, LpNormalization.
#include "kernels/rows.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "compile/kernel_texts.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

// Limits of the kernel that holds rows in registers.
constexpr int64_t kMostElements = 32;  // per thread
constexpr int64_t kMostThreads = 512;  // per row
constexpr int64_t kWarp = 32;

// Distribution of rows over the threads of a block.
struct RowsInRegisters {
  int64_t vector = 1;  // elements per vector access
  int64_t packs = 1;   // vectors per thread
  int64_t lanes = 0;   // threads per row if a block takes several rows; 0: one row per block
  int64_t threads = 0;
};

// nullopt: the rows are too long.
std::optional<RowsInRegisters> rows_in_registers(int64_t length, uint32_t dtype) {
  RowsInRegisters rows_in_registers;
  rows_in_registers.vector = 16 / bytes_of(dtype);
  while (length % rows_in_registers.vector != 0) rows_in_registers.vector /= 2;
  const int64_t packs = length / rows_in_registers.vector;
  const int64_t most = kMostElements / rows_in_registers.vector;
  // A few elements per thread, so that a short row takes a part of a warp.
  const auto lanes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>((packs + 1) / 2)));
  if (packs <= kWarp * std::min<int64_t>(most, 8)) {
    rows_in_registers.lanes = std::min(lanes, kWarp);
    rows_in_registers.packs = (packs + rows_in_registers.lanes - 1) / rows_in_registers.lanes;
    rows_in_registers.threads = 4 * kWarp;
    return rows_in_registers;
  }
  if (packs > kMostThreads * most) return std::nullopt;
  rows_in_registers.threads = std::min(((packs + 1) / 2 + kWarp - 1) / kWarp * kWarp, kMostThreads);
  rows_in_registers.packs = (packs + rows_in_registers.threads - 1) / rows_in_registers.threads;
  return rows_in_registers;
}

class AlongAxis final : public Operation {
 public:
  explicit AlongAxis(const NodeView& node)
      : op_type_(node.op_type()),
        is_flat_(node.since_version() < 13 && node.op_type() != "LpNormalization"),
        axis_(node.get_int("axis", is_flat_ ? 1 : -1)),
        order_(node.get_int("p", 2)) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const Buffer y = planner.output(0, x.dtype, x.shape);
    const auto axis =
        static_cast<size_t>(x.shape.empty() ? 0 : checked_axis(axis_, x.rank(), "axis"));
    SoftmaxParameters parameters = {};
    // Versions before 13 flatten all axes from `axis` on.
    const size_t end = x.shape.empty() ? 0 : is_flat_ ? x.shape.size() : axis + 1;
    parameters.length = count_of(x.shape, axis, end);
    parameters.stride = count_of(x.shape, end, x.shape.size());
    parameters.rows = count_of(x.shape, 0, axis) * parameters.stride;
    parameters.order = static_cast<double>(order_);
    if (parameters.length == 0) return;
    const std::string which = op_type_ == "LogSoftmax"        ? "#define LOG_SOFTMAX\n"
                              : op_type_ == "Hardmax"         ? "#define HARDMAX\n"
                              : op_type_ == "LpNormalization" ? "#define LP_NORM\n"
                                                              : "";
    if (parameters.stride == 1 && (op_type_ == "Softmax" || op_type_ == "LogSoftmax")) {
      if (const std::optional<RowsInRegisters> rows = rows_in_registers(parameters.length, x.dtype))
        return launch_held(planner, parameters, y, which, *rows);
    }
    // If adjacent rows are contiguous and elements of a row are not, a block takes several rows.
    const bool is_across = parameters.stride >= kColumns;
    const int64_t at_once = is_across ? kColumns : 1;
    const int threads =
        is_across ? threads_for_columns(parameters.length) : threads_for_row(parameters.length);
    const std::string body =
        "\ntypedef " + type_name(x.dtype) + " T;\ntypedef " + computed_name(x.dtype) + " C;\n" +
        which + (is_across ? "#define COLUMNS " + std::to_string(kColumns) + "\n" : "") +
        std::string(kernel_text("row_share.cu")) + std::string(kernel_text("softmax.cu"));
    planner.launch(kernel_source({"index.h", "rows.h", "block_reduce.cu"}, body),
                   std::min<int64_t>((parameters.rows + at_once - 1) / at_once, int64_t{1} << 20),
                   threads, parameters,
                   {{&parameters.result, y}, {&parameters.source, Planner::in(0)}});
  }

 private:
  static void launch_held(Planner& planner, const SoftmaxParameters& parameters, const Buffer& y,
                          const std::string& which, const RowsInRegisters& rows) {
    const uint32_t dtype = planner.input(0).dtype;
    const int64_t at_once = rows.lanes == 0 ? 1 : rows.threads / rows.lanes;
    const std::string body =
        "\ntypedef " + type_name(dtype) + " T;\ntypedef " + computed_name(dtype) + " C;\n" + which +
        (rows.lanes == 0 ? "" : "#define LANES " + std::to_string(rows.lanes) + "\n") +
        "#define VECTOR " + std::to_string(rows.vector) + "\n#define PACKS " +
        std::to_string(rows.packs) + "\n" + std::string(kernel_text("row_lanes.cu")) +
        std::string(kernel_text("softmax_wide.cu"));
    planner.launch(kernel_source({"index.h", "rows.h", "block_reduce.cu"}, body),
                   std::min<int64_t>((parameters.rows + at_once - 1) / at_once, int64_t{1} << 20),
                   static_cast<int>(rows.threads), parameters,
                   {{&parameters.result, y}, {&parameters.source, Planner::in(0)}});
  }

  std::string op_type_;
  bool is_flat_;
  int64_t axis_;
  int64_t order_;
};

constexpr sdk::Marks kInPlace = [] {
  sdk::Marks marks;
  marks.overwrites = 1;
  return marks;
}();

constexpr sdk::KernelRow kRows[] = {
    {"Hardmax", 1, sdk::kLatest, sdk::kFloats, make<AlongAxis>, kInPlace},
    {"LogSoftmax", 1, sdk::kLatest, sdk::kFloats, make<AlongAxis>, kInPlace},
    {"LpNormalization", 1, sdk::kLatest, sdk::kFloats, make<AlongAxis>, kInPlace},
    {"Softmax", 1, sdk::kLatest, sdk::kFloats, make<AlongAxis>, kInPlace},
};

}  // namespace

sdk::KernelTable row_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda

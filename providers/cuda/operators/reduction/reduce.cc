// SPDX-License-Identifier: Apache-2.0
// Reductions: Reduce*, ArgMax, ArgMin, GlobalAveragePool, GlobalLpPool, GlobalMaxPool.
#include "kernels/reduction/reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "compile/kernel_texts.h"
#include "fuse/pooling.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;
using Addresses = std::vector<std::pair<const void* const*, Buffer>>;

// Number of elements from which on several threads share a result.
constexpr int64_t kSharedCount = 32;

// Which threads share a result.
enum class Sharing { kThread, kBlock, kColumns };

Sharing sharing_of(const Walk& kept, const Walk& reduced) {
  if (reduced.count() < kSharedCount) return Sharing::kThread;
  const bool is_across = kept.strides[0].back() == 1 && reduced.strides[0].back() != 1;
  return is_across && kept.count() >= kColumns ? Sharing::kColumns : Sharing::kBlock;
}

// Upper bound of an accumulator's size in bytes.
constexpr int64_t kAccumulatorBytes = 16;
// Least number of elements per thread of a block that computes a partial result.
constexpr int64_t kLeastOfShare = 8;

// Blocks per result: several if `blocks`, their number with one block per result, is smaller than
// that of multiprocessors, and each thread has enough elements. `elements`: of a block per step.
int64_t splits_of(const Planner& planner, int64_t blocks, int64_t count, int64_t elements) {
  if (2 * blocks > planner.multiprocessors) return 1;
  const int64_t wanted = 2 * planner.multiprocessors / blocks;
  return std::max<int64_t>(1, std::min(wanted, count / (kLeastOfShare * elements)));
}

// Threads per block: a power of 2, with some elements each.
int threads_of_block(int64_t count) {
  const auto wanted = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count) / 8 + 1));
  return static_cast<int>(std::clamp<int64_t>(wanted, 32, 1024));
}

// Reduces `is_reduced` axes. `strides`: of the input.
void plan_reduction(Planner& planner, const Buffer& result, uint32_t result_dtype,
                    const std::string& accumulator, const std::vector<bool>& is_reduced,
                    const Extents& strides) {
  const InputMetadata& x = planner.input(0);
  Walk kept{{}, {{}}};
  Walk reduced{{}, {{}}};
  for (size_t axis = 0; axis < x.shape.size(); ++axis) {
    Walk& walk = is_reduced[axis] ? reduced : kept;
    walk.extents.push_back(x.shape[axis]);
    walk.strides[0].push_back(strides[axis]);
  }
  ReduceParameters parameters = {};
  parameters.kept_count = kept.count();
  parameters.reduced_count = reduced.count();
  if (parameters.kept_count == 0) return;
  kept.simplify();
  reduced.simplify();
  kept.write_extents(parameters.kept_extents);
  kept.write_strides(0, parameters.kept_strides);
  reduced.write_extents(parameters.reduced_extents);
  reduced.write_strides(0, parameters.reduced_strides);
  const Sharing sharing = sharing_of(kept, reduced);
  constexpr int64_t kMostBlocks = int64_t{1} << 20;
  std::string defines;
  int64_t blocks = blocks_for(planner, parameters.kept_count);
  int threads = kThreads;
  parameters.splits = 1;
  if (sharing == Sharing::kBlock) {
    defines = "#define BY_BLOCK\n";
    threads = threads_of_block(parameters.reduced_count);
    blocks = parameters.kept_count;
    parameters.splits = splits_of(planner, blocks, parameters.reduced_count, threads);
  }
  if (sharing == Sharing::kColumns) {
    defines = "#define BY_COLUMNS\n#define COLUMNS " + std::to_string(kColumns) + "\n";
    threads = threads_for_columns(parameters.reduced_count);
    blocks = (parameters.kept_count + kColumns - 1) / kColumns;
    parameters.splits = splits_of(planner, blocks, parameters.reduced_count, threads / kColumns);
  }
  const auto source = [&](const std::string& which) {
    const std::string body =
        std::string("\ntypedef ") + index_type(kept.is_small() && reduced.is_small()) +
        " Index;\ntypedef " + type_name(x.dtype) + " T;\ntypedef " + computed_name(x.dtype) +
        " C;\ntypedef " + type_name(result_dtype) + " Result;\n#define KEPT_RANK " +
        std::to_string(kept.rank()) + "\n#define REDUCED_RANK " + std::to_string(reduced.rank()) +
        "\n" + which + std::string(kernel_text("real.cu"));
    return kernel_source({"index.h", "index.cu", "reduce.h"},
                         body + std::string(kernel_text("accumulate.cu")) + "typedef " +
                             accumulator + " Accumulator;\n" +
                             std::string(kernel_text("reduce.cu")));
  };
  Addresses addresses = {{&parameters.result, result}, {&parameters.source, Planner::in(0)}};
  if (parameters.splits > 1) {
    defines += "#define SPLIT\n";
    addresses.emplace_back(&parameters.partial,
                           planner.scratch(static_cast<uint64_t>(
                               kAccumulatorBytes * parameters.kept_count * parameters.splits)));
  }
  planner.launch(source(defines), std::min<int64_t>(blocks * parameters.splits, kMostBlocks),
                 threads, parameters, addresses);
  if (parameters.splits == 1) return;
  const auto reduce_threads = static_cast<int>(
      std::clamp<uint64_t>(std::bit_ceil(static_cast<uint64_t>(parameters.splits)), 32, 256));
  planner.launch(source("#define REDUCE_PARTIALS\n"), parameters.kept_count, reduce_threads,
                 parameters, addresses);
}

class Reduce final : public Operation {
 public:
  explicit Reduce(const NodeView& node)
      : accumulator_(accumulator_of(node.op_type())),
        axes_(node.get_ints("axes")),
        keeps_axes_(node.get_int("keepdims", 1) == 1),
        is_noop_(node.get_int("noop_with_empty_axes", 0) != 0) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const Extents axes = planner.has_input(1) ? planner.host_integers(1) : axes_;
    std::vector<bool> is_reduced(x.shape.size(), axes.empty() && !is_noop_);
    for (const int64_t axis : axes)
      is_reduced[static_cast<size_t>(checked_axis(axis, x.rank(), "an axis"))] = true;
    Extents shape;
    for (size_t axis = 0; axis < x.shape.size(); ++axis) {
      if (!is_reduced[axis]) shape.push_back(x.shape[axis]);
      if (is_reduced[axis] && keeps_axes_) shape.push_back(1);
    }
    const Buffer y = planner.output(0, x.dtype, shape);
    if (axes.empty() && is_noop_) {
      planner.copy(y, Planner::in(0), static_cast<uint64_t>(x.element_count() * bytes_of(x.dtype)));
      return;
    }
    plan_reduction(planner, y, x.dtype, accumulator_ + "<C>", is_reduced, dense_strides(x.shape));
  }

 private:
  // The accumulator of ReduceMax is Maximum; the others have the operator's name.
  static std::string accumulator_of(std::string_view op_type) {
    const std::string name(op_type.substr(std::string_view("Reduce").size()));
    return name == "Max" ? "Maximum" : name == "Min" ? "Minimum" : name;
  }

  std::string accumulator_;
  Extents axes_;
  bool keeps_axes_;
  bool is_noop_;
};

class ArgExtreme final : public Operation {
 public:
  explicit ArgExtreme(const NodeView& node)
      : accumulator_(std::string("Arg<C, ") + (node.op_type() == "ArgMax" ? "true" : "false") +
                     (node.get_int("select_last_index", 0) != 0 ? ", true>" : ", false>")),
        axis_(node.get_int("axis", 0)),
        keeps_axis_(node.get_int("keepdims", 1) == 1) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const auto axis = static_cast<size_t>(checked_axis(axis_, x.rank(), "axis"));
    std::vector<bool> is_reduced(x.shape.size(), false);
    is_reduced[axis] = true;
    Extents shape = x.shape;
    if (keeps_axis_) {
      shape[axis] = 1;
    } else {
      shape.erase(shape.begin() + static_cast<int64_t>(axis));
    }
    plan_reduction(planner, planner.output(0, GANTRY_INT64, shape), GANTRY_INT64, accumulator_,
                   is_reduced, dense_strides(x.shape));
  }

 private:
  std::string accumulator_;
  int64_t axis_;
  bool keeps_axis_;
};

constexpr double kMostOrder = 1 << 20;

// The attribute p of GlobalLpPool, a float in version 1.
double order_of(const NodeView& node) {
  return node.since_version() == 1 ? static_cast<double>(node.get_float("p", 2))
                                   : static_cast<double>(node.get_int("p", 2));
}

class GlobalPool final : public Operation {
 public:
  explicit GlobalPool(const NodeView& node) : GlobalPool(node, PoolLayouts{}) {}
  GlobalPool(const NodeView& node, const PoolLayouts& layouts)
      : accumulator_(node.op_type() == "GlobalMaxPool"       ? "Maximum<C>"
                     : node.op_type() == "GlobalAveragePool" ? "Mean<C>"
                                                             : norm_of(order_of(node))),
        layouts_(layouts) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    Extents shape = x.shape;
    std::vector<bool> is_reduced(x.shape.size(), true);
    for (size_t axis = 0; axis < x.shape.size(); ++axis) {
      if (axis < 2) {
        is_reduced[axis] = false;
      } else {
        shape[axis] = 1;
      }
    }
    Extents strides = dense_strides(x.shape);
    if (layouts_.x)  // [batch, channels, rows, columns]
      strides = {strides[0], 1, x.shape[3] * x.shape[1], x.shape[1]};
    plan_reduction(planner, planner.output(0, x.dtype, shape), x.dtype, accumulator_, is_reduced,
                   strides);
  }

 private:
  static std::string norm_of(double order) {
    if (order == 1) return "L1<C>";
    return order == 2 ? "L2<C>" : "Norm<C, " + std::to_string(static_cast<int64_t>(order)) + ">";
  }

  std::string accumulator_;
  PoolLayouts layouts_;
};

std::string has_integer_order(const NodeView& node) {
  const double order = order_of(node);
  return order >= 1 && order <= kMostOrder && order == std::floor(order)
             ? ""
             : "norms of the order " + std::to_string(order) + " are not supported";
}

constexpr sdk::DTypeSet kReduced =
    sdk::kFloats | sdk::dtypes(GANTRY_INT32, GANTRY_INT64, GANTRY_UINT32, GANTRY_UINT64);
constexpr sdk::DTypeSet kOrdered = sdk::kNumbers;
constexpr sdk::Marks kAxes = host_marks(2);

constexpr sdk::KernelRow kRows[] = {
    {"ArgMax", 1, sdk::kLatest, kOrdered, make<ArgExtreme>},
    {"ArgMin", 1, sdk::kLatest, kOrdered, make<ArgExtreme>},
    {"GlobalAveragePool", 1, sdk::kLatest, sdk::kFloats, make<GlobalPool>},
    {"GlobalLpPool", 1, sdk::kLatest, sdk::kFloats, make<GlobalPool>, {}, has_integer_order},
    {"GlobalMaxPool", 1, sdk::kLatest, sdk::kFloats, make<GlobalPool>},
    {"ReduceL1", 1, sdk::kLatest, kReduced, make<Reduce, 2>, kAxes},
    {"ReduceL2", 1, sdk::kLatest, kReduced, make<Reduce, 2>, kAxes},
    {"ReduceLogSum", 1, sdk::kLatest, kReduced, make<Reduce, 2>, kAxes},
    {"ReduceLogSumExp", 1, sdk::kLatest, kReduced, make<Reduce, 2>, kAxes},
    {"ReduceMax", 1, sdk::kLatest, kOrdered | sdk::kBool, make<Reduce, 2>, kAxes},
    {"ReduceMean", 1, sdk::kLatest, kReduced, make<Reduce, 2>, kAxes},
    {"ReduceMin", 1, sdk::kLatest, kOrdered | sdk::kBool, make<Reduce, 2>, kAxes},
    {"ReduceProd", 1, sdk::kLatest, kReduced, make<Reduce, 2>, kAxes},
    {"ReduceSum", 1, sdk::kLatest, kReduced, make<Reduce, 2>, kAxes},
    {"ReduceSumSquare", 1, sdk::kLatest, kReduced, make<Reduce, 2>, kAxes},
};

std::unique_ptr<sdk::Kernel> make_in_layout(const sdk::FusionCompile& compile,
                                            const Fusion& fusion) {
  const PoolLayouts layouts = {is_granted(compile.args.input_formats, 0),
                               is_granted(compile.args.output_formats, 0)};
  return kernel_of(std::make_unique<GlobalPool>(compile.scope.index().node(fusion.root), layouts));
}

}  // namespace

sdk::KernelTable reduce_kernels() { return sdk::table(kRows); }

sdk::FusionRow global_pool_row() {
  return sdk::fusion_row<Fusion, match_global_pool, no_refusal<Fusion>, make_in_layout>(
      "cuda.global_pool");
}

}  // namespace gantry::cuda

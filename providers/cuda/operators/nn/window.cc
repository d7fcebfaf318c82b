// SPDX-License-Identifier: Apache-2.0
// Pooling: MaxPool, AveragePool, LpPool.
#include "fuse/pooling.h"
#include "operators/nn/window_shape.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

class Pool final : public Operation {
 public:
  explicit Pool(const NodeView& node) : Pool(node, PoolLayouts{}) {}
  Pool(const NodeView& node, const PoolLayouts& layouts)
      : which_(node.op_type() == "MaxPool"       ? "MAX_POOL"
               : node.op_type() == "AveragePool" ? "AVERAGE_POOL"
                                                 : "LP_POOL"),
        window_(node),
        counts_padding_(node.get_int("count_include_pad", 0) != 0),
        is_column_major_(node.get_int("storage_order", 0) != 0),
        order_(node.get_int("p", 2)),
        layouts_(layouts) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    WindowParameters parameters = window_.parameters(x.shape, {});
    window_.slide(parameters);
    parameters.result_channels = parameters.channels;
    parameters.counts_padding = counts_padding_ ? 1 : 0;
    parameters.is_column_major = is_column_major_ ? 1 : 0;
    parameters.order = order_;
    parameters.is_source_last = layouts_.x ? 1 : 0;
    parameters.is_result_last = layouts_.y ? 1 : 0;
    const Extents shape = shape_of(parameters, x.shape.size());
    parameters.count = count_of(shape);
    std::vector<std::pair<const void* const*, Buffer>> addresses = {
        {&parameters.source, Planner::in(0)}};
    if (planner.wants(0))
      addresses.emplace_back(&parameters.result, planner.output(0, x.dtype, shape));
    if (planner.wants(1)) {
      addresses.emplace_back(reinterpret_cast<const void* const*>(&parameters.indices),
                             planner.output(1, GANTRY_INT64, shape));
    }
    launch_window(planner, parameters, "window_pool.cu", which_, x.dtype, addresses);
  }

 private:
  std::string which_;
  Window window_;
  bool counts_padding_;
  bool is_column_major_;
  int64_t order_;
  PoolLayouts layouts_;
};

constexpr sdk::DTypeSet kPooled = sdk::kFloats | sdk::dtypes(GANTRY_INT8, GANTRY_UINT8);

constexpr sdk::KernelRow kRows[] = {
    {"AveragePool", 7, sdk::kLatest, sdk::kFloats, make<Pool>},
    {"LpPool", 2, sdk::kLatest, sdk::kFloats, make<Pool>},
    {"MaxPool", 1, sdk::kLatest, kPooled, make<Pool>},
};

std::unique_ptr<sdk::Kernel> make_in_layout(const sdk::FusionCompile& compile,
                                            const Fusion& fusion) {
  const PoolLayouts layouts = {is_granted(compile.args.input_formats, 0),
                               is_granted(compile.args.output_formats, 0)};
  return kernel_of(std::make_unique<Pool>(compile.scope.index().node(fusion.root), layouts));
}

}  // namespace

sdk::KernelTable window_kernels() { return sdk::table(kRows); }

sdk::FusionRow window_pool_row() {
  return sdk::fusion_row<Fusion, match_window_pool, no_refusal<Fusion>, make_in_layout>(
      "cuda.pool");
}

}  // namespace gantry::cuda

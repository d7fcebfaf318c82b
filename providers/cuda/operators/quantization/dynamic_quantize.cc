// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLinear.
#include "kernels/quantization/dynamic_quantize.h"

#include <algorithm>

#include "compile/kernel_texts.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

class DynamicQuantize final : public Operation {
 public:
  explicit DynamicQuantize(const sdk::NodeView&) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    DynamicQuantizeParameters parameters = {};
    parameters.count = x.element_count();
    parameters.shares = std::min<int64_t>(
        std::max<int64_t>(1, blocks_for(planner, x.element_count())), kMostShares);
    std::vector<std::pair<const void* const*, Buffer>> addresses = {
        {address(&parameters.source), Planner::in(0)},
        {address(&parameters.bounds),
         planner.scratch(static_cast<uint64_t>(parameters.shares) * 2 * sizeof(float))}};
    if (planner.wants(0))
      addresses.emplace_back(address(&parameters.result), planner.output(0, GANTRY_UINT8, x.shape));
    if (planner.wants(1))
      addresses.emplace_back(address(&parameters.scale), planner.output(1, GANTRY_FLOAT, {}));
    if (planner.wants(2))
      addresses.emplace_back(address(&parameters.zero), planner.output(2, GANTRY_UINT8, {}));
    for (const char* finds_bounds : {"1\n", "0\n"}) {
      planner.launch(kernel_source({"dynamic_quantize.h", "elementwise.cu"},
                                   join({"\n#define FINDS_BOUNDS ", finds_bounds,
                                         kernel_text("dynamic_quantize.cu")})),
                     parameters.shares, kThreads, parameters, addresses);
    }
  }

 private:
  // Partial bounds, which each block of the second launch combines.
  static constexpr int64_t kMostShares = 1024;

  template <class T>
  static const void* const* address(T* const* member) {
    return reinterpret_cast<const void* const*>(member);
  }
};

constexpr sdk::KernelRow kRows[] = {
    {"DynamicQuantizeLinear", 11, sdk::kLatest, sdk::dtypes(GANTRY_FLOAT), make<DynamicQuantize>},
};

}  // namespace

sdk::KernelTable dynamic_quantize_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda

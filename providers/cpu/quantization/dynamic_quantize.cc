// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLinear.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>

#include "families.h"
#include "node_kernel.h"
#include "quantization/quantization.h"
#include "quantization/quantize_math.h"

namespace gantry::cpu {
namespace {

/// Quantizes to uint8 with a scale and zero point from the range of the data, extended to include
/// 0.
class DynamicQuantizeLinear final : public NodeKernel {
 public:
  explicit DynamicQuantizeLinear(const sdk::NodeView& node) : NodeKernel(node) {}

  void run(sdk::Call& call) const override {
    const int64_t count = call.shape(0).element_count();
    const auto* x = call.data<float>(0);
    float least = 0;
    float greatest = 0;
    range(call, x, count, least, greatest);
    // The scale of a tensor of zeros is arbitrary.
    const float scale = greatest > least ? (greatest - least) / 255.0F : 1.0F;
    const auto zero = quantize<uint8_t>(-least / scale, 0.0F, true);
    const auto zero_point = static_cast<float>(zero);
    auto* y = static_cast<uint8_t*>(call.output(0, GANTRY_UINT8, call.shape(0)).data);
    if (call.wants(1)) *static_cast<float*>(call.output(1, GANTRY_FLOAT, {}).data) = scale;
    if (call.wants(2)) *static_cast<uint8_t*>(call.output(2, GANTRY_UINT8, {}).data) = zero;
    call.parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
      simd::quantize(x + begin, &scale, &zero_point, end - begin, y + begin, end - begin);
    });
  }

 private:
  static constexpr int64_t kGrain = 16384;

  static void range(sdk::Call& call, const float* x, int64_t count, float& least, float& greatest) {
    const int64_t parts = std::clamp<int64_t>(count / kGrain, 1, call.thread_count());
    auto* bounds = call.scratch<float>(2 * parts);
    call.parallel_for(parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part) {
        const int64_t begin = count * part / parts;
        simd::range_with_zero(x + begin, count * (part + 1) / parts - begin, bounds + 2 * part,
                              bounds + 2 * part + 1);
      }
    });
    for (int64_t part = 0; part < parts; ++part) {
      least = std::min(least, bounds[2 * part]);
      greatest = std::max(greatest, bounds[2 * part + 1]);
    }
  }
};

constexpr sdk::KernelRow kDynamicQuantizeRows[] = {
    {"DynamicQuantizeLinear", 11, sdk::kLatest, sdk::dtypes(GANTRY_FLOAT),
     sdk::make<DynamicQuantizeLinear>},
};

}  // namespace

sdk::KernelTable dynamic_quantize_kernels() { return sdk::table(kDynamicQuantizeRows); }

}  // namespace gantry::cpu

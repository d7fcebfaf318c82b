// SPDX-License-Identifier: Apache-2.0
// Where: selects each element from one of two inputs. Elements are only copied, as units
// (elements.h).
#include <type_traits>

#include "elements.h"
#include "elementwise/elementwise.h"
#include "families.h"
#include "simd/vector_math.h"

namespace gantry::cpu {
namespace {

/// y[i] = c[i * c_stride] ? a[i * a_stride] : b[i * b_stride]; strides are 0 or 1.
template <class U>
void select(const uint8_t* c, int64_t c_stride, const U* a, int64_t a_stride, const U* b,
            int64_t b_stride, U* y, int64_t count) {
  if (c_stride == 0) {
    const U* source = *c ? a : b;
    const int64_t stride = *c ? a_stride : b_stride;
    if (stride) {
      if (source != y) std::copy(source, source + count, y);
    } else {
      std::fill(y, y + count, *source);
    }
    return;
  }
  if constexpr (sizeof(U) == sizeof(float)) {
    if (count >= 16) {
      return simd::select(c, reinterpret_cast<const float*>(a), a_stride,
                          reinterpret_cast<const float*>(b), b_stride, reinterpret_cast<float*>(y),
                          count);
    }
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const U from_a = a[i * a_stride];
    const U from_b = b[i * b_stride];
    if constexpr (std::is_integral_v<U>) {
      // By a mask: a branch on a random condition would be mispredicted.
      const auto mask = static_cast<U>(U{0} - static_cast<U>(c[i] != 0));
      y[i] = static_cast<U>(from_b ^ ((from_a ^ from_b) & mask));
    } else {
      y[i] = c[i] ? from_a : from_b;
    }
  }
}

class Where final : public NodeKernel {
 public:
  explicit Where(const sdk::NodeView& node) : NodeKernel(node) {}

  void run(sdk::Call& call) const override {
    const uint32_t dtype = call.input(1).dtype;
    if (call.input(2).dtype != dtype) fail("inputs 1 and 2 must have one element type");
    if (call.input(0).dtype != GANTRY_BOOL) fail("input 0 must be a bool tensor");
    const Broadcast<3> plan({call.shape(0), call.shape(1), call.shape(2)}, label());
    UnitWriter writer(call, 0, dtype, plan.shape());
    dispatch_unit(dtype, [&](auto type) {
      using U = typename decltype(type)::type;
      run_units(call, plan, reinterpret_cast<const U*>(read_units(call, 1)),
                reinterpret_cast<const U*>(read_units(call, 2)), writer.as<U>());
    });
    writer.finish();
  }

 private:
  template <class U>
  static void run_units(sdk::Call& call, const Broadcast<3>& plan, const U* a, const U* b,
                        U* target) {
    const auto* condition = call.data<uint8_t>(0);
    call.parallel_for(plan.count(), kPlainGrain, [&](int64_t begin, int64_t end) {
      plan.for_each_run(begin, end, [&](const auto& run) {
        select(condition + run.inputs[0], plan.inner_stride(0), a + run.inputs[1],
               plan.inner_stride(1), b + run.inputs[2], plan.inner_stride(2), target + run.output,
               run.count);
      });
    });
  }
};

constexpr sdk::KernelRow kWhereRows[] = {
    {"Where",
     9,
     sdk::kLatest,
     sdk::kAllTypes,
     sdk::make<Where>,
     {.overwrites = 6},
     nullptr,
     "",
     nullptr,
     1},
};

}  // namespace

sdk::KernelTable where_kernels() { return sdk::table(kWhereRows); }

}  // namespace gantry::cpu

// SPDX-License-Identifier: Apache-2.0
// MatMul with numpy's rules: vectors are rows or columns, leading axes are broadcast. Products that
// share the second operand become one. Integers wrap around; 16-bit floats are computed in f32.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "broadcast.h"
#include "dispatch.h"
#include "kernels/all_kernels.h"
#include "kernels/blas.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

using ProductTypes =
    TypeList<float, double, Float16, BFloat16, int32_t, int64_t, uint32_t, uint64_t>;

class MatMul final : public NodeKernel {
 public:
  explicit MatMul(const sdk::NodeView& node) : NodeKernel(node) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape a = call.shape(0);
    const sdk::Shape b = call.shape(1);
    const uint32_t dtype = call.input(0).dtype;
    if (call.input(1).dtype != dtype) fail("the inputs must have one element type");
    if (a.rank == 0 || b.rank == 0)
      fail("the inputs must have at least one axis, not shapes " + both(a, b));
    const int64_t m = a.rank > 1 ? a[a.rank - 2] : 1;
    const int64_t k = a[a.rank - 1];
    const int64_t n = b.rank > 1 ? b[b.rank - 1] : 1;
    if (b[b.rank > 1 ? b.rank - 2 : 0] != k) fail("the inner extents of " + both(a, b) + " differ");

    // Each matrix is one element of the broadcast.
    const sdk::Shape batches[2] = {{a.data, std::max(a.rank - 2, 0)},
                                   {b.data, std::max(b.rank - 2, 0)}};
    const Broadcast<2> plan(batches, label());
    Dims shape(plan.shape());
    if (a.rank > 1) shape.push(m);
    if (b.rank > 1) shape.push(n);
    const bool is_empty = count_of(shape.shape()) == 0;
    gantry_tensor& output = call.output(0, dtype, shape.shape());
    if (is_empty) return;
    check_product(m, n, k, label());
    dispatch<ProductTypes>(dtype, [&](auto type) {
      compute<typename decltype(type)::type>(call, {m, n, k}, plan, output);
    });
  }

 private:
  struct Extents {
    int64_t m;
    int64_t n;
    int64_t k;
  };

  static std::string both(sdk::Shape a, sdk::Shape b) {
    return to_string(a) + " and " + to_string(b);
  }

  template <class T>
  static void compute(sdk::Call& call, const Extents& e, const Broadcast<2>& plan,
                      gantry_tensor& output) {
    using C = Compute<T>;
    const C* a = widened<T>(call, call.input(0));
    const C* b = widened<T>(call, call.input(1));
    C* c = wide_output<T>(call, output);
    const int64_t batches = plan.count();
    constexpr int64_t kMost = int64_t{1} << 31;
    const bool shares_b =
        plan.is_flat() &&
        (batches == 1 || (plan.inner_stride(0) == 1 && plan.inner_stride(1) == 0));
    if (shares_b && batches * e.m < kMost) {
      // The rows of all matrices of a lie one after the other.
      multiply(call, dense_product<C>(batches * e.m, e.n, e.k, a, b, c));
    } else {
      multiply_each(call, e, plan, a, b, c);
    }
    narrow<T>(call, c, output);
  }

  template <class C>
  static void multiply_each(sdk::Call& call, const Extents& e, const Broadcast<2>& plan, const C* a,
                            const C* b, C* c) {
    const int64_t work = std::max<int64_t>(e.m * e.n * std::max<int64_t>(e.k, 1), 1);
    const auto visit = [&](int64_t begin, int64_t end, auto&& one) {
      plan.for_each_run(begin, end, [&](const auto& run) {
        for (int64_t i = 0; i < run.count; ++i) {
          const int64_t ia = run.inputs[0] + i * plan.inner_stride(0);
          const int64_t ib = run.inputs[1] + i * plan.inner_stride(1);
          one(dense_product<C>(e.m, e.n, e.k, a + ia * e.m * e.k, b + ib * e.k * e.n,
                               c + (run.output + i) * e.m * e.n));
        }
      });
    };
    if (plan.count() < call.thread_count() && work >= 2 * kProductGrain) {
      visit(0, plan.count(), [&](const Product<C>& product) { multiply(call, product); });
      return;
    }
    const int64_t grain = std::max<int64_t>(1, kProductGrain / work);
    call.parallel_for(plan.count(), grain, [&](int64_t begin, int64_t end) {
      visit(begin, end, [](const Product<C>& product) { multiply_serial(product); });
    });
  }
};

constexpr sdk::DTypeSet kProductIntegers =
    sdk::dtypes(GANTRY_INT32, GANTRY_INT64, GANTRY_UINT32, GANTRY_UINT64);
constexpr sdk::Marks kAnyByte = {.unaligned_inputs = 3};

constexpr sdk::KernelRow kMatMulRows[] = {
    {"MatMul", 1, 8, sdk::kFloats, sdk::make<MatMul>, kAnyByte},
    {"MatMul", 9, sdk::kLatest, sdk::kFloats | kProductIntegers, sdk::make<MatMul>, kAnyByte},
};

}  // namespace

sdk::KernelTable matmul_kernels() { return sdk::table(kMatMulRows); }

}  // namespace gantry::cpu

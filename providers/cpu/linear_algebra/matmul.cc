// SPDX-License-Identifier: Apache-2.0
// MatMul with numpy's rules: vectors are rows or columns, leading axes are broadcast. Matrices that
// share the second operand are multiplied by one GEMM. Integers wrap around; 16-bit floats are
// computed in f32.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>

#include "convert.h"
#include "dispatch.h"
#include "families.h"
#include "linear_algebra/blas.h"
#include "linear_algebra/matrix_batches.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

class MatMul final : public NodeKernel {
 public:
  explicit MatMul(const sdk::NodeView& node) : NodeKernel(node) {}

  void run(sdk::Call& call) const override {
    const uint32_t dtype = call.input(0).dtype;
    if (call.input(1).dtype != dtype) fail("the inputs must have one element type");
    const MatrixBatches all(call.shape(0), call.shape(1), label());
    const bool is_empty = count_of(all.shape()) == 0;
    gantry_tensor& output = call.output(0, dtype, all.shape());
    if (is_empty) return;
    check_gemm(all.m, all.n, all.k, label());
    dispatch<GemmTypes>(
        dtype, [&](auto type) { compute<typename decltype(type)::type>(call, all, output); });
  }

 private:
  template <class T>
  static void compute(sdk::Call& call, const MatrixBatches& all, gantry_tensor& output) {
    using C = Compute<T>;
    const C* a = widened<T>(call, call.input(0));
    const C* b = widened<T>(call, call.input(1));
    C* c = wide_output<T>(call, output);
    if (all.is_one_gemm()) {
      gemm(call, dense_gemm<C>(all.count() * all.m, all.n, all.k, a, b, c));
    } else {
      batched_gemm(call, all, a, b, c);
    }
    narrow<T>(call, c, output);
  }

  template <class C>
  static void batched_gemm(sdk::Call& call, const MatrixBatches& all, const C* a, const C* b,
                           C* c) {
    const int64_t work = std::max<int64_t>(all.m * all.n * std::max<int64_t>(all.k, 1), 1);
    const auto visit = [&](int64_t begin, int64_t end, auto&& one) {
      all.for_each(begin, end, [&](int64_t ic, int64_t ia, int64_t ib) {
        one(dense_gemm<C>(all.m, all.n, all.k, a + ia * all.m * all.k, b + ib * all.k * all.n,
                          c + ic * all.m * all.n));
      });
    };
    if (all.count() < call.thread_count() && work >= 2 * kGemmGrain) {
      visit(0, all.count(), [&](const GemmArgs<C>& args) { gemm(call, args); });
      return;
    }
    const int64_t grain = std::max<int64_t>(1, kGemmGrain / work);
    call.parallel_for(all.count(), grain, [&](int64_t begin, int64_t end) {
      visit(begin, end, [](const GemmArgs<C>& args) { gemm_serial(args); });
    });
  }
};

constexpr sdk::KernelRow kMatMulRows[] = {
    {"MatMul", 1, 8, sdk::kFloats, sdk::make<MatMul>, kUnalignedMatrices},
    {"MatMul", 9, sdk::kLatest, kGemmDTypes, sdk::make<MatMul>, kUnalignedMatrices},
};

}  // namespace

sdk::KernelTable matmul_kernels() { return sdk::table(kMatMulRows); }

}  // namespace gantry::cpu

// SPDX-License-Identifier: Apache-2.0
// Gemm: y = alpha op(a) op(b) + beta c, with c broadcast to the result. Integers wrap around;
// 16-bit floats are computed in f32.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "convert.h"
#include "dispatch.h"
#include "families.h"
#include "linear_algebra/blas.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

/// Least number of elements of c that a thread fills.
constexpr int64_t kBiasGrain = 32768;

class Gemm final : public NodeKernel {
 public:
  explicit Gemm(const sdk::NodeView& node)
      : NodeKernel(node),
        transpose_a_(node.get_int("transA", 0) != 0),
        transpose_b_(node.get_int("transB", 0) != 0),
        alpha_(node.get_float("alpha", 1.0F)),
        beta_(node.get_float("beta", 1.0F)) {}

  void run(sdk::Call& call) const override {
    require_rank(call, 0, 2);
    require_rank(call, 1, 2);
    const sdk::Shape a = call.shape(0);
    const sdk::Shape b = call.shape(1);
    const int64_t m = a[transpose_a_ ? 1 : 0];
    const int64_t k = a[transpose_a_ ? 0 : 1];
    const int64_t n = b[transpose_b_ ? 0 : 1];
    if (b[transpose_b_ ? 1 : 0] != k) {
      fail("the inner extents of " + to_string(a) + (transpose_a_ ? " (transposed)" : "") +
           " and " + to_string(b) + (transpose_b_ ? " (transposed)" : "") + " differ");
    }
    const uint32_t dtype = call.input(0).dtype;
    if (call.input(1).dtype != dtype) fail("the inputs must have one element type");
    check_gemm(m, n, k, label());
    check_addend(call, m, n);
    gantry_tensor& output = call.output(0, dtype, {m, n});
    if (m == 0 || n == 0) return;
    dispatch<GemmTypes>(dtype, [&](auto type) {
      compute<typename decltype(type)::type>(call, {m, n, k}, output);
    });
  }

 private:
  struct Extents {
    int64_t m;
    int64_t n;
    int64_t k;
  };

  void check_addend(sdk::Call& call, int64_t m, int64_t n) const {
    if (!call.has_input(2)) return;
    if (call.input(2).dtype != call.input(0).dtype) fail("the inputs must have one element type");
    const sdk::Shape c = call.shape(2);
    const bool fits_n = c.rank < 1 || c[c.rank - 1] == 1 || c[c.rank - 1] == n;
    const bool fits_m = c.rank < 2 || c[c.rank - 2] == 1 || c[c.rank - 2] == m;
    if (c.rank > 2 || !fits_n || !fits_m) {
      fail("input 2 has shape " + to_string(c) + ", which cannot be broadcast to [" +
           std::to_string(m) + ", " + std::to_string(n) + "]");
    }
  }

  template <class C>
  [[nodiscard]] C factor(float value) const {
    if constexpr (std::is_integral_v<C>) {
      if (value != std::nearbyint(value) || std::fabs(value) > 1e9F) {
        fail("alpha and beta of an integer product must be whole numbers below 10^9",
             GANTRY_UNSUPPORTED);
      }
      return static_cast<C>(static_cast<int64_t>(value));
    } else {
      return static_cast<C>(value);
    }
  }

  template <class T>
  void compute(sdk::Call& call, const Extents& e, gantry_tensor& output) const {
    using C = Compute<T>;
    GemmArgs<C> args = dense_gemm<C>(e.m, e.n, e.k, widened<T>(call, call.input(0)),
                                     widened<T>(call, call.input(1)), wide_output<T>(call, output));
    args.transpose_a = transpose_a_;
    args.transpose_b = transpose_b_;
    args.lda = std::max<int64_t>(transpose_a_ ? e.m : e.k, 1);
    args.ldb = std::max<int64_t>(transpose_b_ ? e.k : e.n, 1);
    args.alpha = factor<C>(alpha_);
    args.beta = call.has_input(2) ? factor<C>(beta_) : C{0};
    if (args.beta != C{0}) spread(call, widened<T>(call, call.input(2)), call.shape(2), args);
    gemm(call, args);
    narrow<T>(call, args.c, output);
  }

  /// Writes the broadcast of input C to the output, before the GEMM adds to it.
  template <class C>
  static void spread(sdk::Call& call, const C* source, sdk::Shape shape, const GemmArgs<C>& args) {
    const bool has_columns = shape.rank > 0 && shape[shape.rank - 1] != 1;
    const bool has_rows = shape.rank > 1 && shape[0] != 1;
    const int64_t row_step = has_rows ? (has_columns ? args.n : 1) : 0;
    const int64_t grain = std::max<int64_t>(1, kBiasGrain / args.n);
    call.parallel_for(args.m, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        C* target = args.c + i * args.n;
        const C* row = source + i * row_step;
        if (has_columns) {
          std::copy_n(row, args.n, target);
        } else {
          std::fill_n(target, args.n, *row);
        }
      }
    });
  }

  bool transpose_a_;
  bool transpose_b_;
  float alpha_;
  float beta_;
};

constexpr sdk::KernelRow kGemmRows[] = {
    // Attribute `broadcast` of versions 1 and 6 is not needed: different shapes imply broadcasting.
    {"Gemm", 1, 8, sdk::kFloats, sdk::make<Gemm>, kUnalignedMatrices},
    {"Gemm", 9, sdk::kLatest, kGemmDTypes, sdk::make<Gemm>, kUnalignedMatrices},
};

}  // namespace

sdk::KernelTable gemm_kernels() { return sdk::table(kGemmRows); }

}  // namespace gantry::cpu

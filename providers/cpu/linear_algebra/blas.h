// SPDX-License-Identifier: Apache-2.0
// GEMM: f32 and f64 by OpenBLAS (its single-threaded build), integers by a loop of this provider,
// both split over the threads of the run. Matrices are row-major and need no alignment. Any thread.
#pragma once

#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "dispatch.h"

namespace gantry::cpu {

/// c[m, n] = alpha op(a)[m, k] op(b)[k, n] + beta c, where op transposes or not. `ld*` are the row
/// strides of the stored matrices, in elements. With beta 0, c need not be initialised.
template <class T>
struct GemmArgs {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  T alpha = T{1};
  const T* a = nullptr;
  int64_t lda = 0;
  const T* b = nullptr;
  int64_t ldb = 0;
  T beta = T{0};
  T* c = nullptr;
  int64_t ldc = 0;

  /// The arguments that compute rows [begin, end) of c.
  [[nodiscard]] GemmArgs rows(int64_t begin, int64_t end) const {
    GemmArgs part = *this;
    part.m = end - begin;
    part.a = a + (transpose_a ? begin : begin * lda);
    part.c = c + begin * ldc;
    return part;
  }
  /// The arguments that compute columns [begin, end) of c.
  [[nodiscard]] GemmArgs columns(int64_t begin, int64_t end) const {
    GemmArgs part = *this;
    part.n = end - begin;
    part.b = b + (transpose_b ? begin * ldb : begin);
    part.c = c + begin;
    return part;
  }
};

/// The element types of MatMul and Gemm.
using GemmTypes = TypeList<float, double, Float16, BFloat16, int32_t, int64_t, uint32_t, uint64_t>;
inline constexpr sdk::DTypeSet kGemmDTypes = dtype_set(GemmTypes{});
/// Inputs 0 and 1 need no alignment.
inline constexpr sdk::Marks kUnalignedMatrices = {.unaligned_inputs = 3};

/// c[m, n] = a[m, k] b[k, n] of dense matrices.
template <class T>
GemmArgs<T> dense_gemm(int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c) {
  GemmArgs<T> args;
  args.m = m;
  args.n = n;
  args.k = k;
  args.a = a;
  args.lda = std::max<int64_t>(k, 1);
  args.b = b;
  args.ldb = std::max<int64_t>(n, 1);
  args.c = c;
  args.ldc = std::max<int64_t>(n, 1);
  return args;
}

/// Runs on the calling thread. Requires extents and row strides below 2^31, see check_gemm(). Does
/// not throw.
template <class T>
void gemm_serial(const GemmArgs<T>& args);

/// Throws INVALID_ARGUMENT if an extent is above 2^31 - 1, the largest that OpenBLAS accepts.
void check_gemm(int64_t m, int64_t n, int64_t k, const std::string& label);

/// Multiplications that justify another thread: some 10 us of work.
inline constexpr int64_t kGemmGrain = int64_t{1} << 20;

/// Runs on the threads of the run, split along the longer axis of c. The same requirements as
/// gemm_serial().
template <class T>
void gemm(sdk::Call& call, const GemmArgs<T>& args) {
  if (args.m == 0 || args.n == 0) return;
  const int64_t work = args.m * args.n * std::max<int64_t>(args.k, 1);
  const bool is_vector = args.m == 1 || args.n == 1;
  // GEMV is bound by memory, so each multiplication takes longer.
  const int64_t grain = is_vector ? kGemmGrain / 8 : kGemmGrain;
  const int64_t parts = work < 2 * grain ? 1 : std::min<int64_t>(call.thread_count(), work / grain);
  if (parts <= 1) return gemm_serial(args);
  // Parts are multiples of the library's widest register block where there is room.
  const bool by_rows = args.m > args.n;
  const int64_t extent = by_rows ? args.m : args.n;
  const int64_t block = extent >= parts * 32 ? 16 : 1;
  const int64_t blocks = (extent + block - 1) / block;
  call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    const int64_t first = std::min(extent, blocks * begin / parts * block);
    const int64_t last = std::min(extent, blocks * end / parts * block);
    if (first < last) gemm_serial(by_rows ? args.rows(first, last) : args.columns(first, last));
  });
}

}  // namespace gantry::cpu

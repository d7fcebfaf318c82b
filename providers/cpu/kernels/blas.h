// SPDX-License-Identifier: Apache-2.0
// Matrix products: f32 and f64 by OpenBLAS (the build without threads of its own), integers by a
// loop of ours, and how a product is split over the run's threads. Matrices are row-major and may
// start at any byte. Any thread.
#pragma once

#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "dispatch.h"

namespace gantry::cpu {

/// c[m, n] = alpha op(a)[m, k] op(b)[k, n] + beta c; op transposes if asked. `ld*` are distances
/// between rows.
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

  /// The part that computes rows [begin, end) of c.
  [[nodiscard]] GemmArgs rows(int64_t begin, int64_t end) const {
    GemmArgs part = *this;
    part.m = end - begin;
    part.a = a + (transpose_a ? begin : begin * lda);
    part.c = c + begin * ldc;
    return part;
  }
  /// The part that computes columns [begin, end) of c.
  [[nodiscard]] GemmArgs columns(int64_t begin, int64_t end) const {
    GemmArgs part = *this;
    part.n = end - begin;
    part.b = b + (transpose_b ? begin * ldb : begin);
    part.c = c + begin;
    return part;
  }
};

/// The element types of MatMul and Gemm, and that their matrices may start at any byte.
using GemmTypes = TypeList<float, double, Float16, BFloat16, int32_t, int64_t, uint32_t, uint64_t>;
inline constexpr sdk::DTypeSet kGemmDTypes = dtype_set(GemmTypes{});
inline constexpr sdk::Marks kUnalignedMatrices = {.unaligned_inputs = 3};

/// Plain product of dense matrices.
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

/// On the calling thread. Extents and row distances are below 2^31, see check_gemm. Throws
/// nothing.
template <class T>
void gemm_serial(const GemmArgs<T>& args);

/// Throws INVALID_ARGUMENT if an extent is beyond what the library counts with (2^31 - 1).
void check_gemm(int64_t m, int64_t n, int64_t k, const std::string& label);

/// Multiplications for which a second thread pays: some 10 us of work.
inline constexpr int64_t kGemmGrain = int64_t{1} << 20;

/// On the threads of the run, split along the longer of c's axes.
template <class T>
void gemm(sdk::Call& call, const GemmArgs<T>& args) {
  if (args.m == 0 || args.n == 0) return;
  const int64_t work = args.m * args.n * std::max<int64_t>(args.k, 1);
  const bool is_vector = args.m == 1 || args.n == 1;
  // A product with a vector is bound by memory, so that each multiplication takes longer.
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

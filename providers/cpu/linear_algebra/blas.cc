// SPDX-License-Identifier: Apache-2.0
#include "linear_algebra/blas.h"

#include <algorithm>
#include <cblas.h>
#include <limits>
#include <string>

#include "linear_algebra/blas_buffers.h"

namespace gantry::cpu {
namespace {

blasint narrow_int(int64_t value) { return static_cast<blasint>(value); }

/// `s` for float, `d` for double.
template <class T, class Single, class Double>
auto blas_function(Single s, Double d) {
  if constexpr (std::is_same_v<T, float>) {
    return s;
  } else {
    return d;
  }
}

template <class T>
void call_gemm(const GemmArgs<T>& p, CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b) {
  blas_function<T>(cblas_sgemm, cblas_dgemm)(CblasRowMajor, a, b, narrow_int(p.m), narrow_int(p.n),
                                             narrow_int(p.k), p.alpha, p.a, narrow_int(p.lda), p.b,
                                             narrow_int(p.ldb), p.beta, p.c, narrow_int(p.ldc));
}

/// y[count] = alpha matrix x + beta y for a matrix of `rows` x `columns` as it is stored.
struct GemvArgs {
  bool transpose;
  int64_t rows;
  int64_t columns;
  int64_t ld;
  int64_t x_step;
  int64_t y_step;
};
template <class T>
void call_gemv(const GemvArgs& v, T alpha, const T* matrix, const T* x, T beta, T* y) {
  blas_function<T>(cblas_sgemv, cblas_dgemv)(CblasRowMajor, v.transpose ? CblasTrans : CblasNoTrans,
                                             narrow_int(v.rows), narrow_int(v.columns), alpha,
                                             matrix, narrow_int(v.ld), x, narrow_int(v.x_step),
                                             beta, y, narrow_int(v.y_step));
}

template <class T>
T load(const T* source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}

/// GEMM of integers, and of floats if OpenBLAS has no buffer. Integers wrap around, so signed types
/// are computed as unsigned ones. A block of rows of b stays in the cache while all rows of c use
/// it.
template <class T>
void plain_gemm(const GemmArgs<T>& p) {
  using U = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                        std::type_identity<T>>::type;
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      T& c = p.c[i * p.ldc + j];
      c = p.beta == 0 ? T{0} : static_cast<T>(static_cast<U>(c) * static_cast<U>(p.beta));
    }
  }
  constexpr int64_t kDepth = 64;
  constexpr int64_t kWidth = 512;
  U row[kWidth];
  for (int64_t j0 = 0; j0 < p.n; j0 += kWidth) {
    const int64_t width = std::min(kWidth, p.n - j0);
    for (int64_t k0 = 0; k0 < p.k; k0 += kDepth) {
      const int64_t k1 = std::min(p.k, k0 + kDepth);
      for (int64_t i = 0; i < p.m; ++i) {
        T* c = p.c + i * p.ldc + j0;
        for (int64_t j = 0; j < width; ++j) row[j] = static_cast<U>(c[j]);
        for (int64_t k = k0; k < k1; ++k) {
          const U a =
              static_cast<U>(load(p.transpose_a ? p.a + k * p.lda + i : p.a + i * p.lda + k)) *
              static_cast<U>(p.alpha);
          if (p.transpose_b) {
            for (int64_t j = 0; j < width; ++j)
              row[j] += a * static_cast<U>(load(p.b + (j0 + j) * p.ldb + k));
          } else {
            for (int64_t j = 0; j < width; ++j)
              row[j] += a * static_cast<U>(load(p.b + k * p.ldb + j0 + j));
          }
        }
        for (int64_t j = 0; j < width; ++j) c[j] = static_cast<T>(row[j]);
      }
    }
  }
}

/// OpenBLAS's GEMM does not call its much faster GEMV for one row or column, so this does.
template <class T>
void float_gemm(const GemmArgs<T>& p) {
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0) {
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j)
        p.c[i * p.ldc + j] = p.beta == T{0} ? T{0} : p.beta * p.c[i * p.ldc + j];
    }
    return;
  }
  const BlasBuffer buffer;
  if (!buffer.is_reserved()) return plain_gemm(p);
  if (p.m == 1) {
    const int64_t a_step = p.transpose_a ? p.lda : 1;
    const GemvArgs v = {
        !p.transpose_b, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, p.ldb, a_step, 1};
    return call_gemv(v, p.alpha, p.b, p.a, p.beta, p.c);
  }
  if (p.n == 1) {
    const int64_t b_step = p.transpose_b ? 1 : p.ldb;
    const GemvArgs v = {
        p.transpose_a, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, p.lda, b_step, p.ldc};
    return call_gemv(v, p.alpha, p.a, p.b, p.beta, p.c);
  }
  call_gemm(p, p.transpose_a ? CblasTrans : CblasNoTrans,
            p.transpose_b ? CblasTrans : CblasNoTrans);
}

}  // namespace

template <class T>
void gemm_serial(const GemmArgs<T>& args) {
  if constexpr (std::is_integral_v<T>) {
    plain_gemm(args);
  } else {
    float_gemm(args);
  }
}
template void gemm_serial(const GemmArgs<float>&);
template void gemm_serial(const GemmArgs<double>&);
template void gemm_serial(const GemmArgs<int32_t>&);
template void gemm_serial(const GemmArgs<int64_t>&);
template void gemm_serial(const GemmArgs<uint32_t>&);
template void gemm_serial(const GemmArgs<uint64_t>&);

void check_gemm(int64_t m, int64_t n, int64_t k, const std::string& label) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (m <= kMost && n <= kMost && k <= kMost) return;
  throw sdk::Error(GANTRY_INVALID_ARGUMENT, label + ": the product of a [" + std::to_string(m) +
                                                ", " + std::to_string(k) + "] and a [" +
                                                std::to_string(k) + ", " + std::to_string(n) +
                                                "] matrix is above 2^31 - 1 in an extent");
}

}  // namespace gantry::cpu

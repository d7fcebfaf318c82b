// SPDX-License-Identifier: Apache-2.0
// What the provider uses of cuBLASLt. Types and numbers are those of the library's binary
// interface.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "driver.h"
#include "shared_library.h"

namespace gantry::cuda {

/// Types of elements and of arithmetic; the numbers are the library's.
enum BlasType : int { kBlasFloat = 0, kBlasDouble = 1, kBlasHalf = 2, kBlasBfloat = 14 };
enum BlasCompute : int { kCompute32 = 68, kComputeTf32 = 77, kCompute64 = 70 };
enum BlasAttribute : int {
  kLayoutBatchCount = 5,
  kLayoutBatchStride = 6,
  kProductTransposeA = 3,
  kProductTransposeB = 4,
  kProductEpilogue = 7,
  kProductBias = 8,
  kPreferenceWorkspace = 1,
  kPreferenceReduction = 3,
  kPreferenceAlignmentA = 5,
  kPreferenceAlignmentB = 6,
  kPreferenceAlignmentC = 7,
  kPreferenceAlignmentD = 8
};
constexpr int kEpilogueRelu = 2;
constexpr int kEpilogueBias = 4;
constexpr int kEpilogueGelu = 32;     // by the hyperbolic tangent
constexpr uint32_t kReduceWide = 2;   // parts of a sum are added in the type computed with
constexpr int kBlasUnsupported = 15;  // a status

struct BlasAlgorithm {
  std::array<uint64_t, 8> data{};
};
struct BlasHeuristic {
  BlasAlgorithm algorithm;
  size_t workspace_bytes = 0;
  int state = 0;
  float waves = 0;
  std::array<int, 4> reserved{};
};

#define GANTRY_CUDA_BLAS_FUNCTIONS(X)                                                             \
  X(create, cublasLtCreate, int, (void**))                                                        \
  X(destroy, cublasLtDestroy, int, (void*))                                                       \
  X(version, cublasLtGetVersion, size_t, ())                                                      \
  X(status_name, cublasLtGetStatusName, const char*, (int))                                       \
  X(layout_create, cublasLtMatrixLayoutCreate, int, (void**, int, uint64_t, uint64_t, int64_t))   \
  X(layout_destroy, cublasLtMatrixLayoutDestroy, int, (void*))                                    \
  X(layout_set, cublasLtMatrixLayoutSetAttribute, int, (void*, int, const void*, size_t))         \
  X(product_create, cublasLtMatmulDescCreate, int, (void**, int, int))                            \
  X(product_destroy, cublasLtMatmulDescDestroy, int, (void*))                                     \
  X(product_set, cublasLtMatmulDescSetAttribute, int, (void*, int, const void*, size_t))          \
  X(preference_create, cublasLtMatmulPreferenceCreate, int, (void**))                             \
  X(preference_destroy, cublasLtMatmulPreferenceDestroy, int, (void*))                            \
  X(preference_set, cublasLtMatmulPreferenceSetAttribute, int, (void*, int, const void*, size_t)) \
  X(heuristic, cublasLtMatmulAlgoGetHeuristic, int,                                               \
    (void*, void*, void*, void*, void*, void*, void*, int, BlasHeuristic*, int*))                 \
  X(multiply, cublasLtMatmul, int,                                                                \
    (void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, \
     void*, void*, void*, const BlasAlgorithm*, void*, size_t, StreamHandle))

/// The library's functions; 0 is success.
struct BlasFunctions {
  GANTRY_CUDA_BLAS_FUNCTIONS(GANTRY_CUDA_MEMBER)
  /// Sets them; the exported name of one that the library does not have, or null.
  [[nodiscard]] const char* find_in(const SharedLibrary& library) {
    const char* missing = nullptr;
    GANTRY_CUDA_BLAS_FUNCTIONS(GANTRY_CUDA_FIND)
    return missing;
  }
};

}  // namespace gantry::cuda

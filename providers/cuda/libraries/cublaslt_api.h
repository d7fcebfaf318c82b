// SPDX-License-Identifier: Apache-2.0
// The part of cuBLASLt's binary interface that the provider uses: numbers, structs and a table of
// functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "driver/driver.h"
#include "driver/shared_library.h"

namespace gantry::cuda {

/// Element types (cudaDataType) and compute types (cublasComputeType_t).
enum BlasType : int { kBlasFloat = 0, kBlasDouble = 1, kBlasHalf = 2, kBlasBfloat = 14 };
enum BlasCompute : int { kCompute32 = 68, kComputeTf32 = 77, kCompute64 = 70 };
enum BlasAttribute : int {
  kLayoutBatchCount = 5,
  kLayoutBatchStride = 6,
  kMatmulTransposeA = 3,
  kMatmulTransposeB = 4,
  kMatmulEpilogue = 7,
  kMatmulBias = 8,
  kPreferenceWorkspace = 1,
  kPreferenceReduction = 3,
  kPreferenceAlignmentA = 5,
  kPreferenceAlignmentB = 6,
  kPreferenceAlignmentC = 7,
  kPreferenceAlignmentD = 8
};
constexpr int kEpilogueRelu = 2;
constexpr int kEpilogueBias = 4;
constexpr int kEpilogueGelu = 32;     // approximated by tanh
constexpr uint32_t kReduceWide = 2;   // split-K partial sums are added in the compute type
constexpr int kBlasUnsupported = 15;  // CUBLAS_STATUS_NOT_SUPPORTED

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
  X(matmul_create, cublasLtMatmulDescCreate, int, (void**, int, int))                             \
  X(matmul_destroy, cublasLtMatmulDescDestroy, int, (void*))                                      \
  X(matmul_set, cublasLtMatmulDescSetAttribute, int, (void*, int, const void*, size_t))           \
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
  /// Looks all of them up; returns the exported name of the first that the library lacks, or null.
  [[nodiscard]] const char* find_in(const SharedLibrary& library) {
    const char* missing = nullptr;
    GANTRY_CUDA_BLAS_FUNCTIONS(GANTRY_CUDA_FIND)
    return missing;
  }
};

}  // namespace gantry::cuda

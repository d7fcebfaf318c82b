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

/// The library's functions; 0 is success.
struct BlasFunctions {
  int (*create)(void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  size_t (*version)() = nullptr;
  const char* (*status_name)(int) = nullptr;
  int (*layout_create)(void**, int, uint64_t, uint64_t, int64_t) = nullptr;
  int (*layout_destroy)(void*) = nullptr;
  int (*layout_set)(void*, int, const void*, size_t) = nullptr;
  int (*product_create)(void**, int, int) = nullptr;
  int (*product_destroy)(void*) = nullptr;
  int (*product_set)(void*, int, const void*, size_t) = nullptr;
  int (*preference_create)(void**) = nullptr;
  int (*preference_destroy)(void*) = nullptr;
  int (*preference_set)(void*, int, const void*, size_t) = nullptr;
  int (*heuristic)(void*, void*, void*, void*, void*, void*, void*, int, BlasHeuristic*,
                   int*) = nullptr;
  int (*multiply)(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                  const void*, void*, void*, void*, const BlasAlgorithm*, void*, size_t,
                  StreamHandle) = nullptr;

  /// False: the library has not all of them.
  bool load(const SharedLibrary& library);
};

}  // namespace gantry::cuda

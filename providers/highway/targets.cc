// SPDX-License-Identifier: Apache-2.0
// Which instruction sets Highway's dispatch may choose: the few functions that its headers expect
// of its library. That library's initialisers also calibrate a timer for benchmarks, which takes 4
// ms of every process that opens it; nothing else of it is used here
// (docs/decisions/0034-loading.md).
#include <atomic>
#include <hwy/targets.h>

#include "x86_features.h"

namespace hwy {
namespace {

// Taken away by DisableTargets.
std::atomic<int64_t>& disabled_targets() {
  static std::atomic<int64_t> targets{0};
  return targets;
}

// What this CPU and the system run of the sets that providers are compiled for. As the C library
// found it when the process started: in a virtual machine each question to the CPU itself takes
// some microseconds, and the compiler's __builtin_cpu_supports asks a dozen in every library.
int64_t targets_of_this_cpu() {
  int64_t targets = HWY_SCALAR;
  const bool has_sse4 = CPU_FEATURE_ACTIVE(SSE4_2) && CPU_FEATURE_ACTIVE(SSSE3) &&
                        CPU_FEATURE_ACTIVE(AES) && CPU_FEATURE_ACTIVE(PCLMULQDQ);
  if (!has_sse4) return targets;
  targets |= HWY_SSE4;
  const bool has_avx2 = CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(FMA) &&
                        CPU_FEATURE_ACTIVE(BMI1) && CPU_FEATURE_ACTIVE(BMI2) &&
                        CPU_FEATURE_ACTIVE(F16C) && CPU_FEATURE_ACTIVE(LZCNT);
  if (!has_avx2) return targets;
  targets |= HWY_AVX2;
  const bool has_avx512 = CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512VL) &&
                          CPU_FEATURE_ACTIVE(AVX512DQ) && CPU_FEATURE_ACTIVE(AVX512BW) &&
                          CPU_FEATURE_ACTIVE(AVX512CD);
  return has_avx512 ? targets | HWY_AVX3 : targets;
}

}  // namespace

int64_t SupportedTargets() {
  static const int64_t targets = targets_of_this_cpu();
  return (targets & ~disabled_targets().load()) | HWY_SCALAR;
}

void DisableTargets(int64_t disabled) {
  disabled_targets() = disabled;
  GetChosenTarget().DeInit();  // the next dispatch asks again
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy

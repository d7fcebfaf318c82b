// SPDX-License-Identifier: Apache-2.0
// Replaces the Highway library: defines the few functions that its headers need, which select the
// instruction sets for dynamic dispatch. The library itself would also calibrate a benchmark timer
// when loaded, which takes 4 ms (docs/decisions/0034-loading.md).
#include <atomic>
#include <hwy/targets.h>

#include "x86_features.h"

namespace hwy {
namespace {

// Targets disabled by DisableTargets().
std::atomic<int64_t>& disabled_targets() {
  static std::atomic<int64_t> targets{0};
  return targets;
}

// The instruction sets that providers are compiled for and this CPU and operating system support,
// as the C library detected them at process start. CPUID itself takes some microseconds in a
// virtual machine, and __builtin_cpu_supports executes it a dozen times in every library.
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
  GetChosenTarget().DeInit();  // the next dispatch selects again
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy

// SPDX-License-Identifier: Apache-2.0
// Which instruction sets Highway's dispatch may choose: the few functions that its headers expect
// of its library. That library's initialisers also calibrate a timer for benchmarks, which takes 4
// ms of every process that opens it; nothing else of it is used here
// (docs/decisions/0034-what-loading-waits-for.md).
#include <atomic>
#include <cpuid.h>
#include <hwy/targets.h>

namespace hwy {
namespace {

// Taken away by DisableTargets.
std::atomic<int64_t>& disabled_targets() {
  static std::atomic<int64_t> targets{0};
  return targets;
}

// Two features that not every compiler's __builtin_cpu_supports knows by name.
bool has_f16c_and_lzcnt() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  constexpr unsigned kFeatures = 1;
  if (__get_cpuid(kFeatures, &eax, &ebx, &ecx, &edx) == 0 || (ecx & bit_F16C) == 0) return false;
  constexpr unsigned kExtendedFeatures = 0x80000001;
  return __get_cpuid(kExtendedFeatures, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_LZCNT) != 0;
}

// What this CPU and the system run of the sets that providers are compiled for.
int64_t targets_of_this_cpu() {
  __builtin_cpu_init();
  int64_t targets = HWY_SCALAR;
  const bool has_sse4 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") &&
                        __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
  if (!has_sse4) return targets;
  targets |= HWY_SSE4;
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                        has_f16c_and_lzcnt();
  if (!has_avx2) return targets;
  targets |= HWY_AVX2;
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
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

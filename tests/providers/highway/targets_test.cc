// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace {

// By the compiler's own questions to the CPU.
int64_t asked_of_the_cpu() {
  __builtin_cpu_init();
  int64_t targets = HWY_SCALAR;
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("aes")) return targets;
  targets |= HWY_SSE4;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return targets;
  targets |= HWY_AVX2;
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl")) return targets;
  return targets | HWY_AVX3;
}

TEST(HighwayTargets, AreThoseOfTheCpu) { EXPECT_EQ(hwy::SupportedTargets(), asked_of_the_cpu()); }

TEST(HighwayTargets, AreTakenAwayAndGivenBack) {
  const int64_t all = hwy::SupportedTargets();
  hwy::DisableTargets(~int64_t{HWY_SCALAR});
  EXPECT_EQ(hwy::SupportedTargets(), HWY_SCALAR);
  hwy::DisableTargets(0);
  EXPECT_EQ(hwy::SupportedTargets(), all);
}

}  // namespace

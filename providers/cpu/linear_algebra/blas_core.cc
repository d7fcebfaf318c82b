// SPDX-License-Identifier: Apache-2.0
// Selects the kernels that OpenBLAS uses, by the instruction sets of the CPU. OpenBLAS itself looks
// up the CPU model in a list that ends with its release: Debian 12's knows no CPU of 2022 or later
// and may fall back to kernels of 2004, a fifth as fast. Before that it reads OPENBLAS_CORETYPE
// from the environment, which may be meant for another library or machine. The linker (--wrap)
// redirects that getenv() to this file, so the environment is neither used nor changed. Kernels
// that are never selected are not linked.
#include <string_view>

#if defined(__x86_64__)
#include "x86_features.h"
#endif

// NOLINTBEGIN(readability-identifier-naming): --wrap and the library make the names
extern "C" {
char* __real_getenv(const char* name);
char* __wrap_getenv(const char* name);

#if defined(__x86_64__)
// OpenBLAS's kernel tables, one for each CPU model. It only compares the addresses of those not
// selected. Defining them here keeps their kernels, 17 MB, out of the link.
#define GANTRY_ABSENT_KERNELS(MODEL) \
  extern char gotoblas_##MODEL;      \
  char gotoblas_##MODEL = 0
GANTRY_ABSENT_KERNELS(ATOM);
GANTRY_ABSENT_KERNELS(BARCELONA);
GANTRY_ABSENT_KERNELS(BOBCAT);
GANTRY_ABSENT_KERNELS(BULLDOZER);
GANTRY_ABSENT_KERNELS(COOPERLAKE);
GANTRY_ABSENT_KERNELS(CORE2);
GANTRY_ABSENT_KERNELS(DUNNINGTON);
GANTRY_ABSENT_KERNELS(EXCAVATOR);
GANTRY_ABSENT_KERNELS(NANO);
GANTRY_ABSENT_KERNELS(OPTERON);
GANTRY_ABSENT_KERNELS(OPTERON_SSE3);
GANTRY_ABSENT_KERNELS(PENRYN);
GANTRY_ABSENT_KERNELS(PILEDRIVER);
GANTRY_ABSENT_KERNELS(STEAMROLLER);
GANTRY_ABSENT_KERNELS(ZEN);
#undef GANTRY_ABSENT_KERNELS
#endif
}

namespace {

/// OpenBLAS's name for the kernels to use; null: OpenBLAS chooses.
const char* core_of_this_cpu() {
#if defined(__x86_64__)
  // The C library's CPU features, as in providers/highway/targets.cc: they are set before any
  // constructor runs.
  if (CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512BW) && CPU_FEATURE_ACTIVE(AVX512DQ) &&
      CPU_FEATURE_ACTIVE(AVX512VL))
    return "SkylakeX";
  if (CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(FMA)) return "Haswell";
  if (CPU_FEATURE_ACTIVE(AVX)) return "Sandybridge";
  if (CPU_FEATURE_ACTIVE(SSE4_2)) return "Nehalem";
  return "Prescott";  // SSE3, which the first CPUs of this architecture lack
#else
  return nullptr;
#endif
}

}  // namespace

char* __wrap_getenv(const char* name) {
  if (std::string_view(name) == "OPENBLAS_CORETYPE") return const_cast<char*>(core_of_this_cpu());
  return __real_getenv(name);
}
// NOLINTEND(readability-identifier-naming)

// SPDX-License-Identifier: Apache-2.0
#include "matmul/packed/code.h"

#include <cpuid.h>
#include <oneapi/dnnl/dnnl.hpp>

namespace gantry::x86 {
namespace {

// oneDNN's AVX2 level does not imply these.
bool has_fma_and_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kFma = 1U << 12U, kF16c = 1U << 29U;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & kFma) != 0 && (ecx & kF16c) != 0;
}

}  // namespace

const MatMulCode* matmul_code() {
  static const MatMulCode* const code = []() -> const MatMulCode* {
    const auto has =
        [isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa())](dnnl::cpu_isa wanted) {
          return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
        };
    if (has(dnnl::cpu_isa::avx512_core)) return &kMatMulAvx512;
    return has(dnnl::cpu_isa::avx2) && has_fma_and_f16c() ? &kMatMulAvx2 : nullptr;
  }();
  return code;
}

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
#include "simd/instructions.h"

#include <hwy/targets.h>
#include <oneapi/dnnl/dnnl.hpp>

namespace gantry::x86 {

void keep_to_allowed_instructions() {
  static const bool once = [] {
    const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    const auto has = [isa](dnnl::cpu_isa wanted) {
      return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
    };
    int64_t forbidden = 0;
    if (!has(dnnl::cpu_isa::avx512_core)) forbidden |= HWY_AVX3 | HWY_AVX3_DL;
    if (!has(dnnl::cpu_isa::avx2)) forbidden |= HWY_AVX2;
    if (forbidden != 0) hwy::DisableTargets(forbidden);
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace gantry::x86

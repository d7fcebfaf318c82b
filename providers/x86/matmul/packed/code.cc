// SPDX-License-Identifier: Apache-2.0
#include "matmul/packed/code.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace gantry::x86 {

const MatMulCode* matmul_code() {
  static const MatMulCode* const code = [] {
    const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    const auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
    return (isa & wanted) == wanted ? &kMatMulAvx512 : nullptr;
  }();
  return code;
}

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
#include "conv/winograd/code.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace gantry::x86::winograd {

const Code& code() {
  static const Code& code = []() -> const Code& {
    const auto has =
        [isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa())](dnnl::cpu_isa wanted) {
          return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
        };
    if (has(dnnl::cpu_isa::avx512_core)) return kAvx512Code;
    return has(dnnl::cpu_isa::avx2) ? kAvx2Code : kPlainCode;
  }();
  return code;
}

}  // namespace gantry::x86::winograd

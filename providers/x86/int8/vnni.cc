// SPDX-License-Identifier: Apache-2.0
#include "int8/vnni.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace gantry::x86 {

bool has_vnni_code() {
  constexpr auto kWanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_vnni);
  static const bool has =
      (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kWanted) == kWanted;
  return has;
}

}  // namespace gantry::x86

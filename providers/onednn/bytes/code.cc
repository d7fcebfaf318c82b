// SPDX-License-Identifier: Apache-2.0
#include "bytes/code.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace gantry::onednn {

bool has_byte_code() {
  constexpr auto kWanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_vnni);
  static const bool has =
      (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kWanted) == kWanted;
  return has;
}

}  // namespace gantry::onednn

// SPDX-License-Identifier: Apache-2.0
#include "dense/code.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace gantry::onednn {

const DenseCode* dense_code() {
  static const DenseCode* const code = [] {
    const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    const auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
    return (isa & wanted) == wanted ? &kDenseAvx512 : nullptr;
  }();
  return code;
}

}  // namespace gantry::onednn

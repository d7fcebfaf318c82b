// SPDX-License-Identifier: Apache-2.0
#include "int8/vnni.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace gantry::x86 {

namespace {

bool has(dnnl::cpu_isa wanted) {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

}  // namespace

bool has_vnni_code() {
  static const bool has_code = has(dnnl::cpu_isa::avx512_core_vnni);
  return has_code;
}

bool has_quad_sums() {
  static const bool has_sums = has_vnni_code() || has(dnnl::cpu_isa::avx2_vnni);
  return has_sums;
}

}  // namespace gantry::x86

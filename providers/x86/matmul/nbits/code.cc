// SPDX-License-Identifier: Apache-2.0
#include "matmul/nbits/code.h"

#include <cstring>
#include <limits>
#include <oneapi/dnnl/dnnl.hpp>

namespace gantry::x86 {

const BlockCode& block_code() {
  static const BlockCode& code = []() -> const BlockCode& {
    const auto has =
        [isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa())](dnnl::cpu_isa wanted) {
          return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
        };
    if (has(dnnl::cpu_isa::avx512_core_vnni)) return kAvx512Code;
    return has(dnnl::cpu_isa::avx2) ? kAvx2Code : kPlainCode;
  }();
  return code;
}

float scale_of_largest(uint32_t magnitude, float& inverse) {
  constexpr uint32_t kInfinity = 0x7f800000;
  constexpr float kSmallest = 1e-36F;  // below it the inverse is not finite
  constexpr float kMost = 127;
  float largest = 0;
  std::memcpy(&largest, &magnitude, sizeof(largest));
  inverse = 0;
  if (magnitude >= kInfinity) return std::numeric_limits<float>::quiet_NaN();
  if (largest < kSmallest) return 0;
  inverse = kMost / largest;
  return largest / kMost;
}

}  // namespace gantry::x86

// SPDX-License-Identifier: Apache-2.0
#include "kernels/all_kernels.h"

namespace gantry::cpu {

std::vector<sdk::KernelTable> all_kernels() {
  return {
      activation_kernels(),
      binary_kernels(),
      bitwise_kernels(),
      cast_kernels(),
      clip_kernels(),
      compare_kernels(),
      dropout_kernels(),
      identity_kernels(),
      unary_kernels(),
      variadic_kernels(),
      where_kernels(),
  };
}

}  // namespace gantry::cpu

// SPDX-License-Identifier: Apache-2.0
#include "kernels/all_kernels.h"

namespace gantry::cpu {

std::vector<sdk::KernelTable> all_kernels() {
  // clang-format off
  return {
      activation_kernels(),
      arg_reduce_kernels(),
      batch_norm_kernels(),
      binary_kernels(),
      bitwise_kernels(),
      cast_kernels(),
      clip_kernels(),
      compare_kernels(),
      concat_kernels(),
      constant_kernels(),
      conv_kernels(),
      conv_transpose_kernels(),
      cumulative_kernels(),
      dropout_kernels(),
      expand_kernels(),
      gather_kernels(),
      gemm_kernels(),
      global_pool_kernels(),
      gru_kernels(),
      identity_kernels(),
      lrn_kernels(),
      lstm_kernels(),
      matmul_kernels(),
      non_max_suppression_kernels(),
      norm_kernels(),
      optional_kernels(),
      pad_kernels(),
      pool_kernels(),
      random_kernels(),
      reduce_kernels(),
      reshape_kernels(),
      resize_kernels(),
      scatter_kernels(),
      select_kernels(),
      sequence_kernels(),
      shape_kernels(),
      slice_kernels(),
      softmax_kernels(),
      top_k_kernels(),
      transpose_kernels(),
      unary_kernels(),
      unique_kernels(),
      variadic_kernels(),
      where_kernels(),
  };
  // clang-format on
}

}  // namespace gantry::cpu

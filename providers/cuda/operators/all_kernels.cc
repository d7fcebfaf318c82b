// SPDX-License-Identifier: Apache-2.0
// The tables of all families of operators, one line each; element-wise operators have a table of
// their own.
#include "operators/all_kernels.h"

#include "operators/operators.h"

namespace gantry::cuda {

std::vector<sdk::KernelTable> all_kernels() {
  return {
      shape_kernels(),
      movement_kernels(),
      gather_kernels(),
      scatter_kernels(),
      reduce_kernels(),
      row_kernels(),
      norm_kernels(),
      channel_norm_kernels(),
      generate_kernels(),
      random_kernels(),
      matmul_kernels(),
      nbits_matmul_kernels(),
      int8_matmul_kernels(),
      int8_conv_kernels(),
      dynamic_quantize_kernels(),
      cache_kernels(),
      conv_kernels(),
      window_kernels(),
      attention_kernels(),
      group_attention_kernels(),
      multi_head_attention_kernels(),
      resize_kernels(),
      rotary_kernels(),
      recurrent_kernels(),
      pad_kernels(),
      grid_kernels(),
      roi_kernels(),
      unpool_kernels(),
      deform_conv_kernels(),
      lrn_kernels(),
      mean_variance_kernels(),
      einsum_kernels(),
      det_kernels(),
      fourier_kernels(),
      filter_kernels(),
      causal_conv_kernels(),
      linear_attention_kernels(),
  };
}

sdk::FusionTable all_fusions() {
  static const sdk::FusionRow rows[] = {
      int8_conv_row(),   int8_matmul_row(),  conv_row(),         window_pool_row(),
      global_pool_row(), channel_norm_row(), matmul_group_row(), nbits_matmul_group_row(),
      matmul_row(),      nbits_matmul_row(),
  };
  return sdk::table(rows);
}

}  // namespace gantry::cuda

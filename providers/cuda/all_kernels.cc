// SPDX-License-Identifier: Apache-2.0
// The tables of all families that are not element-wise, one line each.
#include "claims.h"
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
      product_kernels(),
      block_product_kernels(),
      byte_product_kernels(),
      byte_conv_kernels(),
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

}  // namespace gantry::cuda

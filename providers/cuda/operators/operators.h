// SPDX-License-Identifier: Apache-2.0
// Kernel tables, one for each family of operators, and fusion rows; all_kernels.cc lists them.
#pragma once

#include <gantry/sdk/fusion.h>
#include <gantry/sdk/rows.h>

#include "plan/movement.h"
#include "plan/operation.h"
#include "plan/types.h"

namespace gantry::cuda {

sdk::KernelTable shape_kernels();
sdk::KernelTable movement_kernels();
sdk::KernelTable gather_kernels();
sdk::KernelTable scatter_kernels();
sdk::KernelTable reduce_kernels();
sdk::KernelTable row_kernels();
sdk::KernelTable norm_kernels();
sdk::KernelTable channel_norm_kernels();
sdk::KernelTable dynamic_quantize_kernels();
sdk::KernelTable generate_kernels();
sdk::KernelTable matmul_kernels();
sdk::KernelTable nbits_matmul_kernels();
sdk::KernelTable int8_conv_kernels();
sdk::KernelTable int8_matmul_kernels();
sdk::KernelTable cache_kernels();
sdk::KernelTable conv_kernels();
sdk::KernelTable window_kernels();
sdk::KernelTable attention_kernels();
sdk::KernelTable group_attention_kernels();
sdk::KernelTable multi_head_attention_kernels();
sdk::KernelTable resize_kernels();
sdk::KernelTable rotary_kernels();
sdk::KernelTable random_kernels();
sdk::KernelTable recurrent_kernels();
sdk::KernelTable pad_kernels();
sdk::KernelTable grid_kernels();
sdk::KernelTable roi_kernels();
sdk::KernelTable unpool_kernels();
sdk::KernelTable deform_conv_kernels();
sdk::KernelTable lrn_kernels();
sdk::KernelTable mean_variance_kernels();
sdk::KernelTable einsum_kernels();
sdk::KernelTable det_kernels();
sdk::KernelTable fourier_kernels();
sdk::KernelTable filter_kernels();
sdk::KernelTable causal_conv_kernels();
sdk::KernelTable linear_attention_kernels();

sdk::FusionRow int8_matmul_row();
sdk::FusionRow int8_conv_row();
sdk::FusionRow conv_row();
sdk::FusionRow window_pool_row();
sdk::FusionRow global_pool_row();
sdk::FusionRow channel_norm_row();
sdk::FusionRow matmul_group_row();
sdk::FusionRow nbits_matmul_group_row();
sdk::FusionRow matmul_row();
sdk::FusionRow nbits_matmul_row();

}  // namespace gantry::cuda

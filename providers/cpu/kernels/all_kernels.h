// SPDX-License-Identifier: Apache-2.0
// The tables of kernel rows of every operator family. Each is defined at the foot of the file that
// implements the family.
#pragma once

#include <gantry/sdk/rows.h>

#include <vector>

namespace gantry::cpu {

sdk::KernelTable activation_kernels();
sdk::KernelTable affine_grid_kernels();
sdk::KernelTable arg_reduce_kernels();
sdk::KernelTable attention_kernels();
sdk::KernelTable batch_norm_kernels();
sdk::KernelTable binary_kernels();
sdk::KernelTable bitwise_kernels();
sdk::KernelTable cast_kernels();
sdk::KernelTable clip_kernels();
sdk::KernelTable compare_kernels();
sdk::KernelTable concat_kernels();
sdk::KernelTable constant_kernels();
sdk::KernelTable conv_integer_kernels();
sdk::KernelTable conv_kernels();
sdk::KernelTable conv_transpose_kernels();
sdk::KernelTable cumulative_kernels();
sdk::KernelTable deform_conv_kernels();
sdk::KernelTable dequantize_kernels();
sdk::KernelTable det_kernels();
sdk::KernelTable dropout_kernels();
sdk::KernelTable dynamic_quantize_kernels();
sdk::KernelTable einsum_kernels();
sdk::KernelTable expand_kernels();
sdk::KernelTable gather_kernels();
sdk::KernelTable gemm_kernels();
sdk::KernelTable global_pool_kernels();
sdk::KernelTable grid_sample_kernels();
sdk::KernelTable gru_kernels();
sdk::KernelTable identity_kernels();
sdk::KernelTable image_kernels();
sdk::KernelTable lrn_kernels();
sdk::KernelTable lstm_kernels();
sdk::KernelTable matmul_integer_kernels();
sdk::KernelTable matmul_kernels();
sdk::KernelTable ml_feature_kernels();
sdk::KernelTable ml_linear_kernels();
sdk::KernelTable ml_label_kernels();
sdk::KernelTable ml_map_kernels();
sdk::KernelTable ml_svm_kernels();
sdk::KernelTable ml_tree_kernels();
sdk::KernelTable non_max_suppression_kernels();
sdk::KernelTable norm_kernels();
sdk::KernelTable optimizer_kernels();
sdk::KernelTable optional_kernels();
sdk::KernelTable pad_kernels();
sdk::KernelTable pool_kernels();
sdk::KernelTable quantize_kernels();
sdk::KernelTable random_kernels();
sdk::KernelTable reduce_kernels();
sdk::KernelTable reshape_kernels();
sdk::KernelTable resize_kernels();
sdk::KernelTable roi_kernels();
sdk::KernelTable rotary_embedding_kernels();
sdk::KernelTable scatter_kernels();
sdk::KernelTable select_kernels();
sdk::KernelTable sequence_kernels();
sdk::KernelTable shape_kernels();
sdk::KernelTable signal_kernels();
sdk::KernelTable slice_kernels();
sdk::KernelTable softmax_kernels();
sdk::KernelTable string_kernels();
sdk::KernelTable tfidf_kernels();
sdk::KernelTable top_k_kernels();
sdk::KernelTable transpose_kernels();
sdk::KernelTable unary_kernels();
sdk::KernelTable unique_kernels();
sdk::KernelTable unpool_kernels();
sdk::KernelTable variadic_kernels();
sdk::KernelTable where_kernels();

/// All tables; of two rows that take a node the one listed first is used.
std::vector<sdk::KernelTable> all_kernels();

}  // namespace gantry::cpu

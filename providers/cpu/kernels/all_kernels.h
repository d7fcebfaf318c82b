// SPDX-License-Identifier: Apache-2.0
// The tables of kernel rows of every operator family. Each is defined at the foot of the file that
// implements the family. all_kernels() calls each once. They are marked cold, so that the linker
// places them together and loading the library does not page in the code of every family.
#pragma once

#include <gantry/sdk/rows.h>

#include <vector>

namespace gantry::cpu {

[[gnu::cold]] sdk::KernelTable activation_kernels();
[[gnu::cold]] sdk::KernelTable affine_grid_kernels();
[[gnu::cold]] sdk::KernelTable arg_reduce_kernels();
[[gnu::cold]] sdk::KernelTable attention_kernels();
[[gnu::cold]] sdk::KernelTable batch_norm_kernels();
[[gnu::cold]] sdk::KernelTable binary_kernels();
[[gnu::cold]] sdk::KernelTable bitwise_kernels();
[[gnu::cold]] sdk::KernelTable cast_kernels();
[[gnu::cold]] sdk::KernelTable clip_kernels();
[[gnu::cold]] sdk::KernelTable compare_kernels();
[[gnu::cold]] sdk::KernelTable concat_kernels();
[[gnu::cold]] sdk::KernelTable constant_kernels();
[[gnu::cold]] sdk::KernelTable conv_integer_kernels();
[[gnu::cold]] sdk::KernelTable conv_kernels();
[[gnu::cold]] sdk::KernelTable conv_transpose_kernels();
[[gnu::cold]] sdk::KernelTable crop_kernels();
[[gnu::cold]] sdk::KernelTable cumulative_kernels();
[[gnu::cold]] sdk::KernelTable deform_conv_kernels();
[[gnu::cold]] sdk::KernelTable dequantize_kernels();
[[gnu::cold]] sdk::KernelTable det_kernels();
[[gnu::cold]] sdk::KernelTable dropout_kernels();
[[gnu::cold]] sdk::KernelTable dynamic_quantize_kernels();
[[gnu::cold]] sdk::KernelTable einsum_kernels();
[[gnu::cold]] sdk::KernelTable expand_kernels();
[[gnu::cold]] sdk::KernelTable gather_kernels();
[[gnu::cold]] sdk::KernelTable gemm_kernels();
[[gnu::cold]] sdk::KernelTable global_pool_kernels();
[[gnu::cold]] sdk::KernelTable grid_sample_kernels();
[[gnu::cold]] sdk::KernelTable group_query_attention_kernels();
[[gnu::cold]] sdk::KernelTable gru_kernels();
[[gnu::cold]] sdk::KernelTable identity_kernels();
[[gnu::cold]] sdk::KernelTable image_kernels();
[[gnu::cold]] sdk::KernelTable inverse_kernels();
[[gnu::cold]] sdk::KernelTable lrn_kernels();
[[gnu::cold]] sdk::KernelTable lstm_kernels();
[[gnu::cold]] sdk::KernelTable matmul_integer_kernels();
[[gnu::cold]] sdk::KernelTable matmul_kernels();
[[gnu::cold]] sdk::KernelTable ml_feature_kernels();
[[gnu::cold]] sdk::KernelTable ml_linear_kernels();
[[gnu::cold]] sdk::KernelTable ml_label_kernels();
[[gnu::cold]] sdk::KernelTable ml_map_kernels();
[[gnu::cold]] sdk::KernelTable ml_svm_kernels();
[[gnu::cold]] sdk::KernelTable ml_tree_kernels();
[[gnu::cold]] sdk::KernelTable non_max_suppression_kernels();
[[gnu::cold]] sdk::KernelTable norm_kernels();
[[gnu::cold]] sdk::KernelTable optimizer_kernels();
[[gnu::cold]] sdk::KernelTable optional_kernels();
[[gnu::cold]] sdk::KernelTable pad_kernels();
[[gnu::cold]] sdk::KernelTable pool_kernels();
[[gnu::cold]] sdk::KernelTable quantize_kernels();
[[gnu::cold]] sdk::KernelTable random_kernels();
[[gnu::cold]] sdk::KernelTable reduce_kernels();
[[gnu::cold]] sdk::KernelTable reshape_kernels();
[[gnu::cold]] sdk::KernelTable resize_kernels();
[[gnu::cold]] sdk::KernelTable roi_kernels();
[[gnu::cold]] sdk::KernelTable rotary_embedding_kernels();
[[gnu::cold]] sdk::KernelTable scatter_kernels();
[[gnu::cold]] sdk::KernelTable select_kernels();
[[gnu::cold]] sdk::KernelTable sequence_kernels();
[[gnu::cold]] sdk::KernelTable shape_kernels();
[[gnu::cold]] sdk::KernelTable signal_kernels();
[[gnu::cold]] sdk::KernelTable slice_kernels();
[[gnu::cold]] sdk::KernelTable softmax_kernels();
[[gnu::cold]] sdk::KernelTable string_kernels();
[[gnu::cold]] sdk::KernelTable tfidf_kernels();
[[gnu::cold]] sdk::KernelTable token_kernels();
[[gnu::cold]] sdk::KernelTable tokenizer_kernels();
[[gnu::cold]] sdk::KernelTable top_k_kernels();
[[gnu::cold]] sdk::KernelTable transpose_kernels();
[[gnu::cold]] sdk::KernelTable unary_kernels();
[[gnu::cold]] sdk::KernelTable unique_kernels();
[[gnu::cold]] sdk::KernelTable unpool_kernels();
[[gnu::cold]] sdk::KernelTable variadic_kernels();
[[gnu::cold]] sdk::KernelTable where_kernels();

/// All tables. If several rows accept a node, the first in this order is used.
std::vector<sdk::KernelTable> all_kernels();

}  // namespace gantry::cpu

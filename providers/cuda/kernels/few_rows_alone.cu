// SPDX-License-Identifier: Apache-2.0
// One product of few rows (few_rows.cu).
KERNEL(ProductParameters) { multiply_few_rows(p, blockIdx.x); }

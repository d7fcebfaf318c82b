// SPDX-License-Identifier: Apache-2.0
// One product of few rows (few_rows.cu).
FORESEEING_KERNEL(ProductParameters, foresee_few_rows(p, blockIdx.x)) { multiply_few_rows(p, blockIdx.x); }

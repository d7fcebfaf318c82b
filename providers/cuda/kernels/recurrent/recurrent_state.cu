// SPDX-License-Identifier: Apache-2.0
// Sets the initial state of a recurrent layer. T of the tensors, C computed with: given.
KERNEL(RecurrentParameters) {
  const i64 count = (i64)p.directions * p.rows * p.hidden;
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const i64 row = i / p.hidden % p.rows;
    const i64 direction = i / p.hidden / p.rows;
    const i64 at = direction * p.ends_at.direction + row * p.ends_at.row + i % p.hidden;
    ((C*)p.state)[i] = p.first_state ? (C)load(((const T*)p.first_state)[at]) : (C)0;
    if (p.cell) ((C*)p.cell)[i] = p.first_cell ? (C)load(((const T*)p.first_cell)[at]) : (C)0;
  }
}

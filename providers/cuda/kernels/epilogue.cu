// SPDX-License-Identifier: Apache-2.0
// A bias by channel, an addend of the same shape and a Relu, in place. T of the tensors, C computed
// with: given.
KERNEL(EpilogueParameters) {
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count; i += step) {
    C y = (C)load(((const T*)p.result)[i]);
    if (p.bias) y += (C)load(((const T*)p.bias)[i / p.inner % p.channels]);
    if (p.added) y += (C)load(((const T*)p.added)[i]);
    if (p.has_relu && y < 0) y = 0;
    if (p.most > 0 && y > (C)p.most) y = (C)p.most;
    ((T*)p.result)[i] = store<T>(y);
  }
}

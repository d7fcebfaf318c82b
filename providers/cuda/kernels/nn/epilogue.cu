// SPDX-License-Identifier: Apache-2.0
// A bias by channel, an addend of the same shape and a Relu, in place. Index, T of the tensors, C
// computed with: given.
KERNEL(EpilogueParameters) {
  FOR_EACH(i, p.count) {
    C y = (C)load(((const T*)p.result)[i]);
    if (p.bias) {
      const Index plane = quotient(i, p.inner);
      const Index channel = plane - quotient(plane, p.channels) * (Index)p.channels.divisor;
      y += (C)load(((const T*)p.bias)[channel]);
    }
    if (p.added) y += (C)load(((const T*)p.added)[i]);
    if (p.has_relu && y < 0) y = 0;
    if (p.most > 0 && y > (C)p.most) y = (C)p.most;
    ((T*)p.result)[i] = store<T>(y);
  }
}

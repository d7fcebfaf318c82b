// SPDX-License-Identifier: Apache-2.0
// Pad with modes edge, reflect and wrap. RANK, Index, Word: given.
inline i64 mirrored(i64 at, i64 extent, int mode) {
  if (extent == 1) return 0;
  if (mode == 1) return at < 0 ? 0 : at >= extent ? extent - 1 : at;
  const i64 period = mode == 2 ? 2 * (extent - 1) : extent;
  const i64 rest = (at % period + period) % period;
  return rest < extent ? rest : period - rest;
}

KERNEL(PadParameters) {
  FOR_EACH(i, p.count) {
    Index n = i;
    i64 offset = 0;
    for (int axis = RANK - 1; axis >= 0; --axis) {
      const Index rest = axis > 0 ? quotient(n, p.extents[axis]) : 0;
      const i64 at = (i64)(axis > 0 ? n - rest * (Index)p.extents[axis].divisor : n);
      offset += mirrored(at - p.begins[axis], p.source_extents[axis], p.mode) * p.strides[axis];
      n = rest;
    }
    ((Word*)p.target)[i] = ((const Word*)p.source)[offset];
  }
}

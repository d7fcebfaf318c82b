// SPDX-License-Identifier: Apache-2.0
// MaxUnpool: scatters each element to its index; the result was cleared before. Index, Word, RANK,
// IS_EXTENDED (the indices refer to other extents than the result's): given. Indices out of range
// are not written.
KERNEL(UnpoolParameters) {
  FOR_EACH(i, p.count) {
    i64 position = p.positions[i];
    if (position < 0 || position >= p.position_count) continue;
#if IS_EXTENDED
    i64 rest = position, stride = 1;
    bool is_in = true;
    position = 0;
#pragma unroll
    for (int axis = RANK - 1; axis >= 0; --axis) {
      const i64 before = rest / p.pooled[axis];
      const i64 at = rest - before * p.pooled[axis];
      is_in = is_in && at < p.extents[axis];
      position += at * stride;
      stride *= p.extents[axis];
      rest = before;
    }
    if (!is_in) continue;
#endif
    ((Word*)p.result)[position] = ((const Word*)p.source)[i];
  }
}

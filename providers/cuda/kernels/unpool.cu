// SPDX-License-Identifier: Apache-2.0
// MaxUnpool: each element goes to where MaxPool found it; the rest has been cleared. Index, Word,
// RANK, IS_EXTENDED (the result has other extents than the places count in): given. A place that is
// not there is not written.
KERNEL(UnpoolParameters) {
  FOR_EACH(i, p.count) {
    i64 place = p.places[i];
    if (place < 0 || place >= p.place_count) continue;
#if IS_EXTENDED
    i64 rest = place, stride = 1;
    bool is_in = true;
    place = 0;
#pragma unroll
    for (int axis = RANK - 1; axis >= 0; --axis) {
      const i64 before = rest / p.pooled[axis];
      const i64 at = rest - before * p.pooled[axis];
      is_in = is_in && at < p.extents[axis];
      place += at * stride;
      stride *= p.extents[axis];
      rest = before;
    }
    if (!is_in) continue;
#endif
    ((Word*)p.result)[place] = ((const Word*)p.source)[i];
  }
}

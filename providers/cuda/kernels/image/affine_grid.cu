// SPDX-License-Identifier: Apache-2.0
// AffineGrid: applies an affine matrix to the points of a regular grid; one thread per coordinate.
// Index, T, C, AXES (2 or 3), ALIGNS_CORNERS: given.
inline C coordinate(i64 at, i64 extent) {
  if (!ALIGNS_CORNERS) return (C)(2 * at + 1) / (C)extent - (C)1;
  return extent > 1 ? (C)(2 * at) / (C)(extent - 1) - (C)1 : (C)-1;
}

KERNEL(AffineGridParameters) {
  FOR_EACH(i, p.count) {
    Index n = i / AXES;
    const int row = (int)(i - n * AXES);
    C at[AXES];  // the innermost axis first
#pragma unroll
    for (int axis = 0; axis < AXES; ++axis) {
      const Divisor& extent = p.extents[2 - axis];
      const Index rest = quotient(n, extent);
      at[axis] = coordinate((i64)(n - rest * (Index)extent.divisor), (i64)extent.divisor);
      n = rest;
    }
    const T* line = (const T*)p.matrices + ((i64)n * AXES + row) * (AXES + 1);
    C sum = (C)load(line[AXES]);
#pragma unroll
    for (int axis = AXES - 1; axis >= 0; --axis) sum += (C)load(line[axis]) * at[axis];
    ((T*)p.result)[i] = store<T>(sum);
  }
}

// SPDX-License-Identifier: Apache-2.0
// Gather, GatherElements and GatherND. Index, Word, Number (the type of indices), and which of the
// kernels: given.
#ifdef GATHER
// result [outer, indices, inner] of source [outer, axis, inner]
KERNEL(GatherParameters) {
  FOR_EACH(i, p.count) {
    const Index row = quotient(i, p.inner);
    const Index inner = i - row * (Index)p.inner.divisor;
    const Index outer = quotient(row, p.index_count);
    const Index number = row - outer * (Index)p.index_count.divisor;
    const i64 at = axis_number(((const Number*)p.indices)[number], p.axis_extent);
    ((Word*)p.target)[i] =
        ((const Word*)p.source)[((i64)outer * p.axis_extent + at) * p.inner.divisor + inner];
  }
}
#endif
#ifdef GATHER_ELEMENTS
KERNEL(GatherElementsParameters) {
  FOR_EACH(i, p.count) {
    const i64 at = axis_number(((const Number*)p.indices)[i], p.axis_extent);
    ((Word*)p.target)[i] =
        ((const Word*)p.source)[offset_of<RANK>(i, p.extents, p.strides) + at * p.axis_stride];
  }
}
#endif
#ifdef GATHER_ND
// A slice of the source per index tuple.
KERNEL(GatherNdParameters) {
  FOR_EACH(i, p.count) {
    const i64 tuple = (i64)i / p.slice;
    i64 offset = tuple / p.tuples_a_batch * p.batch_stride + (i64)i % p.slice;
    for (int d = 0; d < p.depth; ++d) {
      const i64 at = axis_number(((const Number*)p.indices)[tuple * p.depth + d], p.extents[d]);
      offset += at * p.strides[d];
    }
    ((Word*)p.target)[i] = ((const Word*)p.source)[offset];
  }
}
#endif
#ifdef REVERSE
KERNEL(ReverseParameters) {
  FOR_EACH(i, p.count) {
    const Index position = quotient(i, p.inner);
    const Index inner = i - position * (Index)p.inner.divisor;
    const i64 row = (i64)quotient(position, p.columns);
    const i64 column = (i64)position - row * p.columns.divisor;
    const i64 time = p.is_time_first ? row : column;
    const i64 given = (i64)((const Number*)p.indices)[p.is_time_first ? column : row];
    const i64 length = given < p.times ? given : p.times;
    const i64 step = time < length ? length - 1 - 2 * time : 0;
    const i64 from = (i64)position + step * (p.is_time_first ? (i64)p.columns.divisor : 1);
    ((Word*)p.target)[i] = ((const Word*)p.source)[from * p.inner.divisor + inner];
  }
}
#endif

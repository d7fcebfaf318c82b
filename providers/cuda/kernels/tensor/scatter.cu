// SPDX-License-Identifier: Apache-2.0
// ScatterElements and ScatterND, into a copy of the data. Index, T, Number, COMBINE(a, b) of
// computed elements or PLAIN, and which of the kernels: given. Indices out of range are not
// written.
#ifdef PLAIN
inline void put(T* at, T value) { *at = value; }
#else
// A compare-and-swap loop on the 4- or 8-byte word that contains the element.
template <class Word>
inline void put_in_word(Word* word, int shift, T value) {
  const Word mask = sizeof(T) == sizeof(Word)
                        ? ~(Word)0
                        : (((Word)1 << 8 * sizeof(T) % (8 * sizeof(Word))) - 1) << shift;
  Word old = *word;
  for (;;) {
    const Word bits = (old & mask) >> shift;
    T before;
    MATH(memcpy)(&before, &bits, sizeof(T));
    const T after = store<T>(COMBINE(load(before), load(value)));
    Word after_bits = 0;
    MATH(memcpy)(&after_bits, &after, sizeof(T));
    const Word found = atomicCAS(word, old, (Word)((old & ~mask) | after_bits << shift));
    if (found == old) return;
    old = found;
  }
}
inline void put(T* at, T value) {
  if (sizeof(T) == 8) return put_in_word((u64*)at, 0, value);
  const u64 address = (u64)at;
  put_in_word((u32*)(address & ~(u64)3), (int)(address & 3) * 8, value);
}
#endif

#ifdef SCATTER_ELEMENTS
KERNEL(GatherElementsParameters) {
  FOR_EACH(i, p.count) {
    Number at = ((const Number*)p.indices)[i];
    if (!is_inside(at, p.axis_extent)) continue;
    put((T*)p.target + offset_of<RANK>(i, p.extents, p.strides) +
            axis_number(at, p.axis_extent) * p.axis_stride,
        ((const T*)p.source)[i]);
  }
}
#endif
#ifdef SCATTER_ND
KERNEL(GatherNdParameters) {
  FOR_EACH(i, p.count) {
    const i64 tuple = (i64)i / p.slice;
    i64 offset = (i64)i % p.slice;
    bool is_in = true;
    for (int d = 0; d < p.depth; ++d) {
      const Number at = ((const Number*)p.indices)[tuple * p.depth + d];
      is_in = is_in && is_inside(at, p.extents[d]);
      offset += axis_number(at, p.extents[d]) * p.strides[d];
    }
    if (is_in) put((T*)p.target + offset, ((const T*)p.source)[i]);
  }
}
#endif

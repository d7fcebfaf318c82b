// SPDX-License-Identifier: Apache-2.0
// Index arithmetic. Index is u32, for fewer than 2^31 elements, or u64.
inline u32 quotient(u32 n, const Divisor& d) {
  return (u32)((((u64)n * d.multiplier >> 32) + n) >> d.shift);
}
inline u64 quotient(u64 n, const Divisor& d) { return n / d.divisor; }

// Offset of element `n`, counted in dense order over RANK axes, in a tensor with these strides.
// Axis 0 is the outermost; its extent is not read.
template <int RANK, class Index>
inline i64 offset_of(Index n, const Divisor* extents, const i64* strides) {
  i64 offset = 0;
#pragma unroll
  for (int axis = RANK - 1; axis > 0; --axis) {
    const Index rest = quotient(n, extents[axis]);
    offset += (i64)(n - rest * (Index)extents[axis].divisor) * strides[axis];
    n = rest;
  }
  return offset + (i64)n * strides[0];
}

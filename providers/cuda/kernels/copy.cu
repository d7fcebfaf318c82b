// SPDX-License-Identifier: Apache-2.0
// Elements of 1 to 16 bytes moved from strides to strides.
struct alignas(16) u128 {
  u64 low, high;
};

#define FOR_EACH(i, count)                                                            \
  for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < (Index)(count); \
       i += (Index)gridDim.x * blockDim.x)

// A number of an axis from an index that may count from the end; what is outside comes to the end.
template <class I>
inline i64 axis_number(I index, i64 extent) {
  const i64 number = (i64)index < 0 ? (i64)index + extent : (i64)index;
  return number < 0 ? 0 : number >= extent ? extent - 1 : number;
}
template <class I>
inline bool is_inside(I index, i64 extent) {
  return (i64)index >= -extent && (i64)index < extent;
}

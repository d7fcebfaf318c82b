// SPDX-License-Identifier: Apache-2.0
// A strided copy of elements of 1 to 16 bytes.
struct alignas(16) u128 {
  u64 low, high;
};

#define FOR_EACH(i, count)                                                         \
  for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < (Index)(count); \
       i += (Index)gridDim.x * blockDim.x)

// The position of an index, which may be negative; clamped to the axis.
template <class I>
inline i64 axis_number(I index, i64 extent) {
  const i64 number = (i64)index < 0 ? (i64)index + extent : (i64)index;
  return number < 0 ? 0 : number >= extent ? extent - 1 : number;
}
template <class I>
inline bool is_inside(I index, i64 extent) {
  return (i64)index >= -extent && (i64)index < extent;
}

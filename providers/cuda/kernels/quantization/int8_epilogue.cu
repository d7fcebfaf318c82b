// SPDX-License-Identifier: Apache-2.0
// Epilogue of int8 matmuls and convolutions. L, R: types of the operands; T: of the result; MAKES:
// SUMS, FLOATS or BYTES; ADDS_INTEGERS, IS_LINEAR, IS_SPLIT (0 or 1): given.
#define SUMS 0
#define FLOATS 1
#define BYTES 2

// Operands are multiplied as signed elements: flipping the highest bit of unsigned ones subtracts
// 128 from elements and zero points.
template <class F>
struct Signed {
  static const u32 flip = 0;
  static const i32 shift = 0;
};
template <>
struct Signed<u8> {
  static const u32 flip = 0x80808080u;
  static const i32 shift = 128;
};

template <class F>
inline i32 signed_zero(const void* zeros, i64 at) {
  return (zeros ? (i32)((const F*)zeros)[at] : 0) - Signed<F>::shift;
}

// The sum of products of operands minus zero points, modulo 2^32. `left_sum`, `right_sum`: sums of
// the signed elements of the row and the column. `depth`: number of terms.
inline i32 centred_sum(const Int8Epilogue& r, i64 m, i64 n, u32 sum, u32 left_sum, u32 right_sum,
                       i64 depth) {
  const u32 left = (u32)signed_zero<L>(r.left_zero, m * r.left_zero_step);
  const u32 right = (u32)signed_zero<R>(r.right_zero, n * r.right_zero_step);
  return (i32)(sum - left * right_sum - right * left_sum + (u32)depth * left * right);
}

inline T result_of(const Int8Epilogue& r, i64 m, i64 n, i32 sum) {
#if MAKES == SUMS
  return (T)sum;
#else
  const float scale = (r.left_scale ? r.left_scale[m * r.left_scale_step] : 1.0f) *
                      (r.right_scale ? r.right_scale[n * r.right_scale_step] : 1.0f);
  const i64 bias_at = m * r.bias_row_step + n * r.bias_column_step;
#if ADDS_INTEGERS
  const float total = (float)((i64)sum + (r.bias ? (i64)((const i32*)r.bias)[bias_at] : 0));
#else
  const float total = (float)sum;
#endif
#if IS_LINEAR
  const float value = total * (scale / r.result_scale[m * r.result_scale_step]);
  const float divisor = 1;
#else
  float value = total * scale;
  if (r.bias) {
    value += r.bias_scale
                 ? (float)((const i32*)r.bias)[bias_at] * r.bias_scale[bias_at * r.bias_scale_step]
                 : ((const float*)r.bias)[bias_at];
  }
  value = value < r.least ? r.least : value > r.most ? r.most : value;
#if MAKES == BYTES
  const float divisor = r.result_scale[m * r.result_scale_step];
#endif
#endif
#if MAKES == BYTES
  const i32 zero = r.result_zero ? (i32)((const T*)r.result_zero)[m * r.result_scale_step] : 0;
  return QuantizeLinear<T>(value, divisor, zero);
#else
  return value;
#endif
#endif
}

// Writes a sum, or this block's partial sum, for the element at `at`. The product of the zero
// points belongs to the first split.
inline void put_sum(const Int8Epilogue& r, i64 at, i64 m, i64 n, u32 sum, u32 left_sum,
                    u32 right_sum) {
#if IS_SPLIT
  const i64 depth = blockIdx.x < r.blocks ? r.depth : 0;
  atomicAdd(r.partial + at, (u32)centred_sum(r, m, n, sum, left_sum, right_sum, depth));
#else
  ((T*)r.result)[at] = result_of(r, m, n, centred_sum(r, m, n, sum, left_sum, right_sum, r.depth));
#endif
}

// The range of the inner axis of this block's split.
struct Share {
  i64 first, last;
};
inline Share share_of(const Int8Epilogue& r, i64 depth) {
#if IS_SPLIT
  const i64 first = blockIdx.x / r.blocks * r.share;
  return {first, first + r.share < depth ? first + r.share : depth};
#else
  return {0, depth};
#endif
}

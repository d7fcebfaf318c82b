// SPDX-License-Identifier: Apache-2.0
// What becomes of a sum of products of 8-bit numbers. L, R: types of the factors; T: of the result;
// MAKES: SUMS, FLOATS or BYTES; ADDS_INTEGERS, IS_LINEAR, IS_SHARED (0 or 1): given.
#define SUMS 0
#define FLOATS 1
#define BYTES 2

// Factors are multiplied as signed numbers: of unsigned ones the highest bit is turned, which takes
// 128 from each and so from their zero points.
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

// Of the factors less their zero points; what leaves 32 bits wraps around. `left_sum` and
// `right_sum`: of the signed numbers of the row and the column. `depth`: how many these are.
inline i32 centred_sum(const ByteResult& r, i64 m, i64 n, u32 sum, u32 left_sum, u32 right_sum, i64 depth) {
  const u32 left = (u32)signed_zero<L>(r.left_zero, m * r.left_zero_step);
  const u32 right = (u32)signed_zero<R>(r.right_zero, n * r.right_zero_step);
  return (i32)(sum - left * right_sum - right * left_sum + (u32)depth * left * right);
}

inline T result_of(const ByteResult& r, i64 m, i64 n, i32 sum) {
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
    value += r.bias_scale ? (float)((const i32*)r.bias)[bias_at] * r.bias_scale[bias_at * r.bias_scale_step]
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

// A sum, or this block's share of one, for the element at `at`. The zero points' own product is the
// first share's.
inline void put_sum(const ByteResult& r, i64 at, i64 m, i64 n, u32 sum, u32 left_sum, u32 right_sum) {
#if IS_SHARED
  const i64 depth = blockIdx.x < r.blocks ? r.depth : 0;
  atomicAdd(r.partial + at, (u32)centred_sum(r, m, n, sum, left_sum, right_sum, depth));
#else
  ((T*)r.result)[at] = result_of(r, m, n, centred_sum(r, m, n, sum, left_sum, right_sum, r.depth));
#endif
}

// The products that are this block's share of `depth` of them.
struct Share {
  i64 first, last;
};
inline Share share_of(const ByteResult& r, i64 depth) {
#if IS_SHARED
  const i64 first = blockIdx.x / r.blocks * r.share;
  return {first, first + r.share < depth ? first + r.share : depth};
#else
  return {0, depth};
#endif
}

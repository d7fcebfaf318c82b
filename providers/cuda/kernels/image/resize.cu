// SPDX-License-Identifier: Apache-2.0
// Resize: each element is a weighted sum over TAPS elements along each of RESIZED axes. Index,
// RANK, TAPS (1: nearest, 2: linear, 4: cubic), NEAREST (an index, see resize.cc) and what
// resize_position.cu requires: given.

// First tap of an axis, and the weights of its taps.
inline i64 taps_of(const ResizeParameters& p, const ResizeAxis& axis, float x, C* weights) {
#if TAPS == 1
  // A fraction that is a half up to rounding errors counts as a half.
  const float slack = fabs_(x) * 2.384185791015625e-07f;
  weights[0] = 1;
#if NEAREST == 0
  return (i64)ceil_(x - 0.5f - slack);
#elif NEAREST == 1
  return (i64)floor_(x + 0.5f + slack);
#elif NEAREST == 2
  return (i64)floor_(x);
#elif NEAREST == 4
  return (i64)(axis.scale < 1 ? ceil_(x) : floor_(x));
#else
  return (i64)ceil_(x);
#endif
#else
  const float whole = floor_(x);
  const C t = (C)(x - whole);
#if TAPS == 2
  weights[0] = (C)1 - t;
  weights[1] = t;
  return (i64)whole;
#else
  const C a = (C)p.cubic_a;
  const C u = (C)1 - t;
  weights[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
  weights[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
  weights[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
  weights[3] = ((a * (u + 1) - 5 * a) * (u + 1) + 8 * a) * (u + 1) - 4 * a;
  return (i64)whole - 1;
#endif
#endif
}

KERNEL(ResizeParameters) {
  for (Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x; i < (Index)p.count;
       i += (Index)gridDim.x * blockDim.x) {
    Index n = i;
    i64 offset = 0;
    i64 begin[RANK];
    C weights[RANK][TAPS];
    bool is_beyond = false;
#pragma unroll
    for (int axis = RANK - 1; axis >= 0; --axis) {
      const Index rest = axis > 0 ? quotient(n, p.extents[axis]) : 0;
      const i64 at = (i64)(axis > 0 ? n - rest * (Index)p.extents[axis].divisor : n);
      n = rest;
      if (p.axes[axis].is_resized) {
        const float position = source_coordinate(p.axes[axis], (float)at);
        is_beyond = is_beyond || is_outside(p.axes[axis], position);
        begin[axis] = taps_of(p, p.axes[axis], position, weights[axis]);
      } else {
        offset += at * p.strides[axis];
      }
    }
    if (is_beyond) {
      ((T*)p.result)[i] = resized((C)p.outside);
      continue;
    }
    C sum = 0;
    int combinations = 1;
    for (int axis = 0; axis < RANK; ++axis) combinations *= p.axes[axis].is_resized ? TAPS : 1;
    for (int tap = 0; tap < combinations; ++tap) {
      int rest = tap;
      i64 position = offset;
      C weight = 1;
#pragma unroll
      for (int axis = 0; axis < RANK; ++axis) {
        if (!p.axes[axis].is_resized) continue;
        const int digit = rest % TAPS;
        rest /= TAPS;
        position += clamped((float)(begin[axis] + digit), p.axes[axis].in) * p.strides[axis];
        weight *= weights[axis][digit];
      }
#if TAPS == 1
      sum = (C)load(((const T*)p.source)[position]);
#else
      sum += weight * (C)load(((const T*)p.source)[position]);
#endif
    }
    ((T*)p.result)[i] = resized(sum);
  }
}

// SPDX-License-Identifier: Apache-2.0
// GridSample: one thread per point and group of channels, which share the interpolation weights.
// Index, T of the data, G of the grid, C that positions and weights are computed in, RANK (spatial
// axes), TAPS (along an axis; 1: nearest, 2: linear, 4: cubic), PADDING (0: zeros, 1: border, 2:
// reflection), ALIGNS_CORNERS, IS_INTEGER (elements are): given.
inline C begin_of() { return ALIGNS_CORNERS ? (C)0 : (C)-0.5; }
inline C end_of(i64 extent) { return (C)extent - (ALIGNS_CORNERS ? (C)1 : (C)0.5); }

// Reflects a position at the borders until it is between them.
inline C reflected(C x, i64 extent) {
  const C low = begin_of(), high = end_of(extent);
  const C range = high - low;
  if (range <= 0) return low;
  const bool is_below = x < low;
  if (!is_below && x <= high) return x;
  const C distance = is_below ? low - x : x - high;
  const C reflections = floor_(distance / range);
  const C rest = distance - reflections * range;
  const bool is_even = fmod_(reflections, (C)2) == 0;
  return is_below == is_even ? low + rest : high - rest;
}

inline i64 clamped(i64 at, i64 extent) { return at < 0 ? 0 : at >= extent ? extent - 1 : at; }

// An element's index along an axis; -1: padding.
inline i64 padded(i64 at, i64 extent) {
  if (at >= 0 && at < extent) return at;
  if (PADDING == 0) return -1;
  return PADDING == 1 ? clamped(at, extent) : clamped((i64)reflected((C)at, extent), extent);
}

struct AxisTaps {
  i64 at[TAPS];
  C weight[TAPS];
};

// Keys' cubic convolution kernel with a = -3/4.
inline C near_weight(C x) { return ((C)1.25 * x - (C)2.25) * x * x + (C)1; }
inline C far_weight(C x) { return (((C)-0.75 * x + (C)3.75) * x - (C)6) * x + (C)3; }

inline AxisTaps taps_along(C coordinate, i64 extent) {
  const C wide = (C)extent;
  C x = ALIGNS_CORNERS ? (coordinate + 1) / 2 * (wide - 1) : ((coordinate + 1) * wide - 1) / 2;
  // Positions out of the integer range, and NaN, are out of the image.
  const C far = (C)(1 << 30);
  if (!(x > -far)) x = -far;
  if (x > far) x = far;
  if (TAPS == 1) x = rint_(x);
  // Padding applies to each tap of a cubic interpolation separately.
  if (TAPS != 4 && PADDING == 2 && (x < begin_of() || x > end_of(extent))) x = reflected(x, extent);
  const C whole = TAPS == 1 ? x : floor_(x);
  const C t = x - whole;
  const i64 first = (i64)whole;
  AxisTaps taps;
#if TAPS == 1
  taps.weight[0] = 1;
#elif TAPS == 2
  taps.weight[0] = (C)1 - t;
  taps.weight[1] = t;
#else
  taps.weight[0] = far_weight(t + 1);
  taps.weight[1] = near_weight(t);
  taps.weight[2] = near_weight((C)1 - t);
  taps.weight[3] = far_weight((C)2 - t);
#endif
#pragma unroll
  for (int k = 0; k < TAPS; ++k) taps.at[k] = padded(first + k - (TAPS == 4 ? 1 : 0), extent);
  return taps;
}

// The weighted sum over the taps of axes from AXIS on; `offset`: of the axes before.
template <int AXIS>
struct Along {
  static C sum(const T* plane, const GridSampleParameters& p, const AxisTaps* taps, i64 offset) {
    C all = 0;
#pragma unroll
    for (int k = 0; k < TAPS; ++k) {
      const i64 at = taps[AXIS].at[k];
      if (at >= 0)
        all +=
            taps[AXIS].weight[k] * Along<AXIS + 1>::sum(plane, p, taps, offset * p.in[AXIS] + at);
    }
    return all;
  }
};
template <>
struct Along<RANK> {
  static C sum(const T* plane, const GridSampleParameters&, const AxisTaps*, i64 offset) {
    return (C)load(plane[offset]);
  }
};

inline T sampled(const T* plane, const GridSampleParameters& p, const AxisTaps* taps) {
#if TAPS == 1
  i64 offset = 0;
  bool is_in = true;
#pragma unroll
  for (int axis = 0; axis < RANK; ++axis) {
    is_in = is_in && taps[axis].at[0] >= 0;
    offset = offset * p.in[axis] + taps[axis].at[0];
  }
  return is_in ? plane[offset] : T{};
#else
  const C sum = Along<0>::sum(plane, p, taps, 0);
#if IS_INTEGER
  return (T)(i64)sum;  // out of range: wraps, as in Cast
#else
  return store<T>(sum);
#endif
#endif
}

KERNEL(GridSampleParameters) {
  FOR_EACH(i, p.count) {
    const Index rest = quotient(i, p.points);
    const i64 point = (i64)(i - rest * (Index)p.points.divisor);
    const i64 image = (i64)quotient(rest, p.groups);
    const i64 first = ((i64)rest - image * p.groups.divisor) * p.each;
    const G* coordinates = (const G*)p.grid + (image * p.points.divisor + point) * RANK;
    AxisTaps taps[RANK];
#pragma unroll
    for (int axis = 0; axis < RANK; ++axis)
      taps[axis] = taps_along((C)load(coordinates[RANK - 1 - axis]), p.in[axis]);
    const i64 end = first + p.each < p.channels ? first + p.each : p.channels;
    for (i64 c = image * p.channels + first; c < image * p.channels + end; ++c)
      ((T*)p.result)[c * p.points.divisor + point] =
          sampled((const T*)p.source + c * p.plane, p, taps);
  }
}

// SPDX-License-Identifier: Apache-2.0
// im2col of DeformConv: samples at the offset taps. One thread per tap and part of the channels,
// which share the interpolation weights. Index, T, C, AXES: given.
#define CORNERS (1 << AXES)

// Offsets and weights of the elements around a tap; -1: outside.
struct Corners {
  i64 at[CORNERS];
  C weight[CORNERS];
};

// Doubles `count` corners by a further axis of `extent` elements.
inline void add_axis(Corners& corners, int count, C at, i64 extent) {
  // Also false for NaN.
  const bool is_near = at > (C)-1 && at < (C)extent;
  const C whole = is_near ? floor_(at) : (C)0;
  const C t = is_near ? at - whole : (C)0;
  const i64 low = (i64)whole;
  const bool has_low = is_near && low >= 0;
  const bool has_high = is_near && low < extent - 1;
#pragma unroll
  for (int k = 0; k < CORNERS; ++k) {
    if (k >= count) break;
    const i64 before = corners.at[k];
    const C weight = corners.weight[k];
    corners.at[count + k] = before >= 0 && has_high ? before * extent + low + 1 : -1;
    corners.weight[count + k] = weight * t;
    corners.at[k] = before >= 0 && has_low ? before * extent + low : -1;
    corners.weight[k] = weight * ((C)1 - t);
  }
}

KERNEL(DeformParameters) {
  const WindowParameters& w = p.window;
  const i64 positions = p.positions.divisor, taps = p.taps.divisor;
  const i64 plane = w.in[0] * w.in[1] * w.in[2];
  FOR_EACH(i, p.count) {
    Index n = quotient(i, p.positions);
    const i64 position = (i64)(i - n * (Index)p.positions.divisor);
    Index rest = quotient(n, p.taps);
    const int tap = (int)(n - rest * (Index)p.taps.divisor);
    n = quotient(rest, p.parts);
    const i64 part = (i64)(rest - n * (Index)p.parts.divisor);
    const i64 image = (i64)quotient(n, p.groups);
    const i64 group = (i64)n - image * p.groups.divisor;
    const i64 row = (i64)n * taps + tap;  // of [images, groups, taps]
    const T* offsets = (const T*)p.offsets + row * AXES * positions + position;
    Corners corners;
    corners.at[0] = 0;
    corners.weight[0] = 1;
    // Coordinates come innermost first, corners outermost first.
    int at[AXES], k[AXES];
    Index left = (Index)position;
    int number = tap;
#pragma unroll
    for (int axis = AXES - 1; axis >= 0; --axis) {
      const int own = 3 - AXES + axis;
      const Index before = quotient(left, w.out_extents[own]);
      at[axis] = (int)(left - before * (Index)w.out_extents[own].divisor);
      left = before;
      k[axis] = number % (int)w.kernel[own];
      number /= (int)w.kernel[own];
    }
#pragma unroll
    for (int axis = 0; axis < AXES; ++axis) {
      const int own = 3 - AXES + axis;
      const int from =
          at[axis] * (int)w.stride[own] - (int)w.begin[own] + k[axis] * (int)w.dilation[own];
      add_axis(corners, 1 << axis, (C)from + (C)load(offsets[axis * positions]), w.in[own]);
    }
    const C factor = p.mask ? (C)load(((const T*)p.mask)[row * positions + position]) : (C)1;
    const i64 end = (part + 1) * p.each < p.group_channels ? (part + 1) * p.each : p.group_channels;
    for (i64 c = part * p.each; c < end; ++c) {
      const i64 channel = image * w.channels + group * p.group_channels + c;
      const T* source = (const T*)p.source + channel * plane;
      C sum = 0;
#pragma unroll
      for (int corner = 0; corner < CORNERS; ++corner) {
        if (corners.at[corner] >= 0)
          sum += corners.weight[corner] * (C)load(source[corners.at[corner]]);
      }
      ((T*)p.columns)[(channel * taps + tap) * positions + position] = store<T>(sum * factor);
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
// Common parts of convolutions and pooling with one thread per result: the result's coordinates,
// and its window. Index: u32, for fewer than 2^31 results, or u64. Positions along an axis, padding
// included, fit into 31 bits.

struct ResultPosition {
  i64 image, channel;
  int at[3];
};

inline ResultPosition result_position(const WindowParameters& p, Index i) {
  ResultPosition position;
  const auto take = [&i](const Divisor& extent) {
    const Index rest = quotient(i, extent);
    const i64 at = (i64)(i - rest * (Index)extent.divisor);
    i = rest;
    return at;
  };
  if (p.is_result_last) position.channel = take(p.result_channel_extent);
#pragma unroll
  for (int axis = 2; axis >= 0; --axis) position.at[axis] = (int)take(p.out_extents[axis]);
  if (!p.is_result_last) position.channel = take(p.result_channel_extent);
  position.image = (i64)i;
  return position;
}

inline i64 source_plane(const WindowParameters& p) { return p.in[0] * p.in[1] * p.in[2]; }
inline i64 tap_count(const WindowParameters& p) { return p.kernel[0] * p.kernel[1] * p.kernel[2]; }

// An element of the source under a window.
struct Tap {
  int from[3];
  bool is_in;       // inside of the source
  bool is_covered;  // inside of the source or its padding
};

// A tap along one axis.
struct AxisTap {
  int from;
  bool is_in;
  bool is_covered;
};

// Tap `k` of the window of a result at `at`. TRANSPOSED: for transposed convolutions.
template <bool TRANSPOSED>
inline AxisTap tap_along(const WindowParameters& p, int axis, int at, int k) {
  const int extent = (int)p.in[axis];
  if (TRANSPOSED) {
    const int spread = at + (int)p.begin[axis] - k * (int)p.dilation[axis];
    const int stride = (int)p.stride[axis];
    const int from = spread / stride;
    return {from, spread >= 0 && spread == from * stride && from < extent, true};
  }
  const int from = at * (int)p.stride[axis] - (int)p.begin[axis] + k * (int)p.dilation[axis];
  return {from, from >= 0 && from < extent, from < extent + (int)p.end[axis]};
}

// Calls visit(tap, index) for all taps of a result's window in order. Nested loops, because
// dividing a tap's index would cost as much as the work on a tap.
template <bool TRANSPOSED, class Visit>
inline void for_each_tap(const WindowParameters& p, const ResultPosition& position,
                         const Visit& visit) {
  int number = 0;
  for (int k0 = 0; k0 < (int)p.kernel[0]; ++k0) {
    const AxisTap tap0 = tap_along<TRANSPOSED>(p, 0, position.at[0], k0);
    for (int k1 = 0; k1 < (int)p.kernel[1]; ++k1) {
      const AxisTap tap1 = tap_along<TRANSPOSED>(p, 1, position.at[1], k1);
      for (int k2 = 0; k2 < (int)p.kernel[2]; ++k2) {
        const AxisTap tap2 = tap_along<TRANSPOSED>(p, 2, position.at[2], k2);
        const Tap tap = {{tap0.from, tap1.from, tap2.from},
                         tap0.is_in && tap1.is_in && tap2.is_in,
                         tap0.is_covered && tap1.is_covered && tap2.is_covered};
        visit(tap, number++);
      }
    }
  }
}

inline i64 position_in_plane(const WindowParameters& p, const Tap& tap) {
  return ((i64)tap.from[0] * p.in[1] + tap.from[1]) * p.in[2] + tap.from[2];
}

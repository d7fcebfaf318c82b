// SPDX-License-Identifier: Apache-2.0
// What convolutions and pooling with a thread for each result have in common: where a result
// stands, and what its window covers. Index: u32, for fewer than 2^31 results, or u64.

struct ResultPlace {
  i64 image, channel;
  i64 at[3];
};

inline ResultPlace result_place(const WindowParameters& p, Index i) {
  ResultPlace place;
  const auto take = [&i](const Divisor& extent) {
    const Index rest = quotient(i, extent);
    const i64 at = (i64)(i - rest * (Index)extent.divisor);
    i = rest;
    return at;
  };
  if (p.is_result_last) place.channel = take(p.result_channel_extent);
#pragma unroll
  for (int axis = 2; axis >= 0; --axis) place.at[axis] = take(p.out_extents[axis]);
  if (!p.is_result_last) place.channel = take(p.result_channel_extent);
  place.image = (i64)i;
  return place;
}

inline i64 source_plane(const WindowParameters& p) { return p.in[0] * p.in[1] * p.in[2]; }
inline i64 tap_count(const WindowParameters& p) { return p.kernel[0] * p.kernel[1] * p.kernel[2]; }

// An element of the source under a window.
struct Tap {
  i64 from[3];
  bool is_in;       // the source has it
  bool is_covered;  // the source or the padding has it
};

// A tap along one axis.
struct AxisTap {
  i64 from;
  bool is_in;
  bool is_covered;
};

// Tap `k` of the window of a result at `at`. TRANSPOSED: the source is what the window's results
// are.
template <bool TRANSPOSED>
inline AxisTap tap_along(const WindowParameters& p, int axis, i64 at, int k) {
  if (TRANSPOSED) {
    // What is negative is no place, whatever its quotient as an unsigned number is.
    const i64 spread = at + p.begin[axis] - k * p.dilation[axis];
    const u32 stride = (u32)p.stride[axis];
    const u32 from = (u32)spread / stride;
    return {(i64)from, spread >= 0 && (u32)spread == from * stride && (i64)from < p.in[axis], true};
  }
  const i64 from = at * p.stride[axis] - p.begin[axis] + k * p.dilation[axis];
  return {from, from >= 0 && from < p.in[axis], from < p.in[axis] + p.end[axis]};
}

// Calls visit(tap, number) for all taps of a result's window in their order. Loops rather than
// divisions of a tap's number, each of which costs as much as what is done with a tap.
template <bool TRANSPOSED, class Visit>
inline void for_each_tap(const WindowParameters& p, const ResultPlace& place, const Visit& visit) {
  i64 number = 0;
  for (int k0 = 0; k0 < (int)p.kernel[0]; ++k0) {
    const AxisTap tap0 = tap_along<TRANSPOSED>(p, 0, place.at[0], k0);
    for (int k1 = 0; k1 < (int)p.kernel[1]; ++k1) {
      const AxisTap tap1 = tap_along<TRANSPOSED>(p, 1, place.at[1], k1);
      for (int k2 = 0; k2 < (int)p.kernel[2]; ++k2) {
        const AxisTap tap2 = tap_along<TRANSPOSED>(p, 2, place.at[2], k2);
        const Tap tap = {{tap0.from, tap1.from, tap2.from},
                         tap0.is_in && tap1.is_in && tap2.is_in,
                         tap0.is_covered && tap1.is_covered && tap2.is_covered};
        visit(tap, number++);
      }
    }
  }
}

inline i64 place_in_plane(const WindowParameters& p, const Tap& tap) {
  return (tap.from[0] * p.in[1] + tap.from[1]) * p.in[2] + tap.from[2];
}

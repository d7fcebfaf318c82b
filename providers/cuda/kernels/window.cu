// SPDX-License-Identifier: Apache-2.0
// What convolutions and pooling with a thread for each result have in common: where a result
// stands, and what its window covers.

struct ResultPlace {
  i64 image, channel;
  i64 at[3];
};

inline ResultPlace result_place(const WindowParameters& p, i64 i) {
  ResultPlace place;
  if (p.is_result_last) {
    place.channel = i % p.result_channels;
    i /= p.result_channels;
  }
#pragma unroll
  for (int axis = 2; axis >= 0; --axis) {
    place.at[axis] = i % p.out[axis];
    i /= p.out[axis];
  }
  if (!p.is_result_last) {
    place.channel = i % p.result_channels;
    i /= p.result_channels;
  }
  place.image = i;
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

// Tap `k` of the window of a result. TRANSPOSED: the source is what the window's results are.
template <bool TRANSPOSED>
inline Tap tap_of(const WindowParameters& p, const ResultPlace& place, i64 k) {
  const i64 taps[3] = {k / (p.kernel[1] * p.kernel[2]), k / p.kernel[2] % p.kernel[1], k % p.kernel[2]};
  Tap tap = {{}, true, true};
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    if (TRANSPOSED) {
      const i64 spread = place.at[axis] + p.begin[axis] - taps[axis] * p.dilation[axis];
      tap.from[axis] = spread / p.stride[axis];
      tap.is_in = tap.is_in && spread >= 0 && spread % p.stride[axis] == 0 && tap.from[axis] < p.in[axis];
    } else {
      tap.from[axis] = place.at[axis] * p.stride[axis] - p.begin[axis] + taps[axis] * p.dilation[axis];
      tap.is_in = tap.is_in && tap.from[axis] >= 0 && tap.from[axis] < p.in[axis];
      tap.is_covered = tap.is_covered && tap.from[axis] < p.in[axis] + p.end[axis];
    }
  }
  return tap;
}

inline i64 place_in_plane(const WindowParameters& p, const Tap& tap) {
  return (tap.from[0] * p.in[1] + tap.from[1]) * p.in[2] + tap.from[2];
}

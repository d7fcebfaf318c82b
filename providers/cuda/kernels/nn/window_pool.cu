// SPDX-License-Identifier: Apache-2.0
// Pooling: one thread per result. T, C and one of MAX_POOL, AVERAGE_POOL and LP_POOL: given.

// Accumulators of pooling: take() gets each element with the index of its tap, pad() each padding
// position, finish() writes result `i`. `first`: index of the plane's first element in the source.
#if defined(MAX_POOL)
struct Pooling {
  C most;
  int most_tap;

  void begin() {
    most = Limits<C>::below();
    most_tap = -1;
  }
  void pad(const WindowParameters&) {}
  void take(const WindowParameters&, C value, int tap) {
    if (most_tap >= 0 && !(value > most) && !(value != value && most == most)) return;
    most = value;
    most_tap = tap;
  }
  void finish(const WindowParameters& p, i64 i, const ResultPosition& position, i64 first) {
    if (p.result) ((T*)p.result)[i] = store<T>(most);
    if (p.indices) p.indices[i] = most_tap < 0 ? first - 1 : first + number_in_plane(p, position);
  }
  i64 number_in_plane(const WindowParameters& p, const ResultPosition& position) const {
    const int kernel1 = (int)p.kernel[1], kernel2 = (int)p.kernel[2];
    const int taps[3] = {most_tap / kernel2 / kernel1, most_tap / kernel2 % kernel1,
                         most_tap % kernel2};
    i64 from[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
      from[axis] = tap_along<false>(p, axis, position.at[axis], taps[axis]).from;
    return p.is_column_major ? (from[2] * p.in[1] + from[1]) * p.in[0] + from[0]
                             : (from[0] * p.in[1] + from[1]) * p.in[2] + from[2];
  }
};
#elif defined(AVERAGE_POOL)
struct Pooling {
  C sum;
  i64 count;

  void begin() {
    sum = 0;
    count = 0;
  }
  void pad(const WindowParameters& p) { count += p.counts_padding ? 1 : 0; }
  void take(const WindowParameters&, C value, int) {
    sum += value;
    ++count;
  }
  void finish(const WindowParameters& p, i64 i, const ResultPosition&, i64) {
    ((T*)p.result)[i] = store<T>(sum / (C)(count > 0 ? count : 1));
  }
};
#else
struct Pooling {
  C sum;

  void begin() { sum = 0; }
  void pad(const WindowParameters&) {}
  void take(const WindowParameters& p, C value, int) {
    const C size = value < 0 ? -value : value;
    sum += p.order == 1 ? size : p.order == 2 ? value * value : pow_(size, (C)p.order);
  }
  void finish(const WindowParameters& p, i64 i, const ResultPosition&, i64) {
    const C root = p.order == 1 ? sum : p.order == 2 ? sqrt_(sum) : pow_(sum, (C)1 / (C)p.order);
    ((T*)p.result)[i] = store<T>(root);
  }
};
#endif

KERNEL(WindowParameters) {
  const i64 plane = source_plane(p);
  const i64 step = p.is_source_last ? p.channels : 1;  // position stride
  FOR_EACH(i, p.count) {
    const ResultPosition position = result_position(p, i);
    const i64 first = (position.image * p.channels + position.channel) * plane;
    const T* source =
        (const T*)p.source +
        (p.is_source_last ? position.image * p.channels * plane + position.channel : first);
    Pooling pooling;
    pooling.begin();
    for_each_tap<false>(p, position, [&](const Tap& tap, int number) {
      if (tap.is_in) {
        pooling.take(p, (C)load(source[position_in_plane(p, tap) * step]), number);
      } else if (tap.is_covered) {
        pooling.pad(p);
      }
    });
    pooling.finish(p, (i64)i, position, first);
  }
}

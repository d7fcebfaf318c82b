// SPDX-License-Identifier: Apache-2.0
// Pooling, a thread for each result. T, C and one of MAX_POOL, AVERAGE_POOL and LP_POOL: given.

// What becomes of the elements under a window: take() gets each, pad() each place in the padding,
// finish() makes result `i`. `first`: number of the plane's first element in all of the source.
#if defined(MAX_POOL)
struct Pooling {
  C most;
  i64 most_at;

  void begin() {
    most = Limits<C>::below();
    most_at = -1;
  }
  void pad(const WindowParameters&) {}
  void take(const WindowParameters& p, C value, const Tap& tap) {
    if (most_at >= 0 && !(value > most) && !(value != value && most == most)) return;
    most = value;
    most_at = p.is_column_major ? (tap.from[2] * p.in[1] + tap.from[1]) * p.in[0] + tap.from[0]
                                : place_in_plane(p, tap);
  }
  void finish(const WindowParameters& p, i64 i, i64 first) {
    if (p.result) ((T*)p.result)[i] = store<T>(most);
    if (p.indices) p.indices[i] = first + most_at;
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
  void take(const WindowParameters&, C value, const Tap&) {
    sum += value;
    ++count;
  }
  void finish(const WindowParameters& p, i64 i, i64) {
    ((T*)p.result)[i] = store<T>(sum / (C)(count > 0 ? count : 1));
  }
};
#else
struct Pooling {
  C sum;

  void begin() { sum = 0; }
  void pad(const WindowParameters&) {}
  void take(const WindowParameters& p, C value, const Tap&) {
    const C size = value < 0 ? -value : value;
    sum += p.order == 1 ? size : p.order == 2 ? value * value : pow_(size, (C)p.order);
  }
  void finish(const WindowParameters& p, i64 i, i64) {
    const C root = p.order == 1 ? sum : p.order == 2 ? sqrt_(sum) : pow_(sum, (C)1 / (C)p.order);
    ((T*)p.result)[i] = store<T>(root);
  }
};
#endif

KERNEL(WindowParameters) {
  const i64 plane = source_plane(p);
  const i64 step = p.is_source_last ? p.channels : 1;  // from one place of a plane to the next
  FOR_EACH(i, p.count) {
    const ResultPlace place = result_place(p, i);
    const i64 first = (place.image * p.channels + place.channel) * plane;
    const T* source = (const T*)p.source + (p.is_source_last ? place.image * p.channels * plane + place.channel : first);
    Pooling pooling;
    pooling.begin();
    for_each_tap<false>(p, place, [&](const Tap& tap, i64) {
      if (tap.is_in) {
        pooling.take(p, (C)load(source[place_in_plane(p, tap) * step]), tap);
      } else if (tap.is_covered) {
        pooling.pad(p);
      }
    });
    pooling.finish(p, (i64)i, first);
  }
}

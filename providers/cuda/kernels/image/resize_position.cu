// SPDX-License-Identifier: Apache-2.0
// Source positions of Resize's results, and how results are written. T, C and TRANSFORM (an index,
// see resize.cc), ROUNDS (results are integers): given.
inline float source_coordinate(const ResizeAxis& axis, float x) {
#if TRANSFORM == 0
  return (x + 0.5f) / axis.scale - 0.5f;
#elif TRANSFORM == 1
  const float offset = (float)axis.in / 2.0f * (1.0f - (float)axis.out / axis.exact_out);
  return offset + (x + 0.5f) / axis.scale - 0.5f;
#elif TRANSFORM == 2
  return axis.out == 1 ? 0.0f : (x + 0.5f) / axis.scale - 0.5f;
#elif TRANSFORM == 3
  return axis.exact_out == 1.0f ? 0.0f : x * (float)(axis.in - 1) / (axis.exact_out - 1.0f);
#elif TRANSFORM == 4
  return x / axis.scale;
#elif TRANSFORM == 5
  return (x + 0.5f) / axis.scale;
#else
  const float last = (float)(axis.in - 1);
  if (axis.out == 1) return 0.5f * (axis.begin + axis.end) * last;
  return axis.begin * last + x * (axis.end - axis.begin) * last / (float)(axis.out - 1);
#endif
}

// Whether a position of tf_crop_and_resize is out of the source.
inline bool is_outside(const ResizeAxis& axis, float position) {
  return TRANSFORM == 6 && !(position >= 0 && position <= (float)(axis.in - 1));
}

inline i64 clamped(float at, i64 extent) {
  if (!(at > 0)) return 0;
  return at >= (float)extent ? extent - 1 : (i64)at < extent ? (i64)at : extent - 1;
}

inline T resized(C value) {
#if ROUNDS
  const C whole = rint_(value);
  return whole <= (C)Limits<T>::lowest()    ? Limits<T>::lowest()
         : whole >= (C)Limits<T>::highest() ? Limits<T>::highest()
                                            : (T)whole;
#else
  return store<T>(value);
#endif
}

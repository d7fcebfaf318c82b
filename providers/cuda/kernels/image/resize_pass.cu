// SPDX-License-Identifier: Apache-2.0
// Resize along one axis with normalised weights: antialiasing, where the filter is wider for
// smaller results, or exclude_outside. Index, S of the source, CUBIC (else linear),
// EXCLUDES_OUTSIDE, and what resize_position.cu requires: given.
inline double weight_at(const ResizePassParameters& p, double distance) {
  const double x = fabs_(distance);
#if CUBIC
  const double a = p.cubic_a;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0;
#else
  return x < 1 ? 1 - x : 0.0;
#endif
}

KERNEL(ResizePassParameters) {
  const i64 inner_count = p.inner.divisor;
  FOR_EACH(i, p.count) {
    const Index rest = quotient(i, p.inner);
    const i64 inner = (i64)(i - rest * (Index)p.inner.divisor);
    const i64 outer = (i64)quotient(rest, p.out);
    const float position = source_coordinate(p.axis, (float)((i64)rest - outer * p.out.divisor));
    if (is_outside(p.axis, position)) {
      ((T*)p.result)[i] = resized((C)p.outside);
      continue;
    }
    // At an integer position the base is the element before it, so that the distance is in (0, 1].
    const double base = ceil_((double)position) - 1;
    const double distance = (double)position - base;
    const i64 before = p.taps / 2 - 1;
    const S* source = (const S*)p.source + outer * p.axis.in * inner_count + inner;
    C sum = 0;
    double weights = 0;
    for (i64 k = 0; k < p.taps; ++k) {
      const i64 at = (i64)base + k - before;
      const bool is_in = at >= 0 && at < p.axis.in;
      double weight = weight_at(p, ((double)(k - before) - distance) * p.stretch);
      if (EXCLUDES_OUTSIDE && !is_in) weight = 0;
      weights += weight;
      const i64 from = is_in ? at : at < 0 ? 0 : p.axis.in - 1;
      sum += (C)weight * (C)load(source[from * inner_count]);
    }
    ((T*)p.result)[i] = resized(weights != 0 ? (C)(sum / (C)weights) : sum);
  }
}

// SPDX-License-Identifier: Apache-2.0
// One pass of a mixed-radix discrete Fourier transform. After passes whose radices multiply to L,
// element [k, s] of a line of N points, [L, N / L], is coefficient k of the transform of every (N /
// L)-th point from s on. A thread computes one element from `radix` elements of the previous pass.
// Index, T of the tensors, C computed with, IS_FIRST, IS_LAST, IS_INVERSE, SOURCE_PARTS and
// RESULT_PARTS (1: real, 2: complex) and IS_HALF (the source is the first half of a spectrum, of a
// real result): given.
struct Complex {
  C real, imaginary;
};

#if IS_FIRST
// Point n of a line of the source.
inline Complex point_of(const FourierParameters& p, i64 outer, i64 inner, i64 n) {
  bool is_mirrored = false;
#if IS_HALF
  if (n > p.points / 2) {
    n = p.points - n;
    is_mirrored = true;
  }
#endif
  if (n >= p.given) return {0, 0};
  const i64 batch = (i64)quotient((Index)outer, p.frames);
  const i64 frame = outer - batch * p.frames.divisor;
  const T* at =
      (const T*)p.source +
      (batch * p.batch_step + frame * p.frame_step + n * p.inner.divisor + inner) * SOURCE_PARTS;
  Complex point = {(C)load(at[0]), SOURCE_PARTS == 2 ? (C)load(at[SOURCE_PARTS - 1]) : (C)0};
  if (p.window) {
    const C factor = (C)load(((const T*)p.window)[n]);
    point.real *= factor;
    point.imaginary *= factor;
  }
  if (is_mirrored) point.imaginary = -point.imaginary;
  return point;
}
#endif

KERNEL(FourierParameters) {
  const Complex* twiddles = (const Complex*)p.twiddles;
  FOR_EACH(i, p.count) {
    const Index rest = quotient(i, p.inner);
    const i64 inner = (i64)(i - rest * (Index)p.inner.divisor);
    const i64 outer = (i64)quotient(rest, p.kept);
    const u32 position = (u32)((i64)rest - outer * p.kept.divisor);
    const u32 step = p.step.divisor, points = (u32)p.points;
    const u32 k = quotient(position, p.step);
    const u32 s = position - k * step;
    const u32 twiddle_step = k * step;  // of each further term
    const u32 first = (k - quotient(k, p.done) * p.done.divisor) * (step * (u32)p.radix) + s;
    u32 at = 0;
    Complex sum = {0, 0};
    for (u32 t = 0; t < (u32)p.radix; ++t) {
#if IS_FIRST
      const Complex x = point_of(p, outer, inner, (i64)(s + step * t));
#else
      const i64 from = (i64)(first + step * t);
      const Complex x =
          ((const Complex*)p.source)[(outer * p.points + from) * p.inner.divisor + inner];
#endif
      const Complex w = twiddles[at];
      const C sine = IS_INVERSE ? w.imaginary : -w.imaginary;
      sum.real += x.real * w.real - x.imaginary * sine;
      sum.imaginary += x.real * sine + x.imaginary * w.real;
      at += twiddle_step;
      if (at >= points) at -= points;
    }
#if IS_LAST
    const C scale = IS_INVERSE ? (C)1 / (C)p.points : (C)1;
    T* y = (T*)p.result + (i64)i * RESULT_PARTS;
    y[0] = store<T>(sum.real * scale);
    if (RESULT_PARTS == 2) y[RESULT_PARTS - 1] = store<T>(sum.imaginary * scale);
#else
    ((Complex*)p.result)[i] = sum;
#endif
  }
}

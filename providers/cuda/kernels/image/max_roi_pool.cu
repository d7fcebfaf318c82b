// SPDX-License-Identifier: Apache-2.0
// MaxRoiPool: one thread per bin and channel. Index, T, C: given.

// A coordinate rounded to pixels, halves away from 0; NaN and infinities are far out of the image.
inline i64 pixel(const RoiParameters& p, C coordinate) {
  const double far = 1 << 30;
  const double position = (double)coordinate * p.scale;
  const double whole = trunc_(position + (position < 0 ? -0.5 : 0.5));
  return whole > -far ? whole < far ? (i64)whole : (i64)far : (i64)-far;
}

// Pixels [begin, end) of a bin along an axis of `limit`.
struct PixelRange {
  i64 begin, end;
};
inline PixelRange stretch(i64 first, i64 last, int bins, int bin, i64 limit) {
  const i64 extent = last - first + 1;
  const double size = (double)(extent > 1 ? extent : 1) / (double)bins;
  const i64 begin = (i64)floor_((double)bin * size) + first;
  const i64 end = (i64)ceil_((double)(bin + 1) * size) + first;
  return {begin < 0 ? 0 : begin > limit ? limit : begin, end < 0 ? 0 : end > limit ? limit : end};
}

KERNEL(RoiParameters) {
  FOR_EACH(i, p.count) {
    const Index n = quotient(i, p.columns);
    const int column = (int)(i - n * (Index)p.columns.divisor);
    const Index rest = quotient(n, p.rows);
    const int row = (int)(n - rest * (Index)p.rows.divisor);
    const i64 region = (i64)quotient(rest, p.channels);
    const i64 channel = (i64)rest - region * p.channels.divisor;
    const T* box = (const T*)p.regions + 5 * region;
    const i64 image = axis_number((i64)(C)load(box[0]), p.batch);
    const T* x = (const T*)p.source + (image * p.channels.divisor + channel) * p.height * p.width;
    const PixelRange columns = stretch(pixel(p, (C)load(box[1])), pixel(p, (C)load(box[3])),
                                       (int)p.columns.divisor, column, p.width);
    const PixelRange rows = stretch(pixel(p, (C)load(box[2])), pixel(p, (C)load(box[4])),
                                    (int)p.rows.divisor, row, p.height);
    const bool is_empty = rows.begin >= rows.end || columns.begin >= columns.end;
    C most = is_empty ? (C)0 : Limits<C>::below();
    for (i64 y = rows.begin; y < rows.end; ++y) {
      for (i64 at = columns.begin; at < columns.end; ++at) {
        const C value = (C)load(x[y * p.width + at]);
        if (value > most) most = value;
      }
    }
    ((T*)p.result)[i] = store<T>(most);
  }
}

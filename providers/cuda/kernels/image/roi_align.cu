// SPDX-License-Identifier: Apache-2.0
// RoiAlign: one thread per bin and channel, with bilinear samples. Index, T, C, HALF_PIXEL,
// TAKES_LARGEST, MOST_SAMPLES: given.

// The samples of the bins of a region along one axis.
struct Line {
  C start, bin;
  int count;  // samples per bin; -1: more than MOST_SAMPLES, or NaN
  C at(int bin_number, int sample) const {
    return start + (C)bin_number * bin + ((C)sample + (C)0.5) * bin / (C)count;
  }
};

inline Line line_of(const RoiParameters& p, C low, C high, int bins) {
  const C offset = HALF_PIXEL ? (C)0.5 : (C)0;
  Line line;
  line.start = low * (C)p.scale - offset;
  C extent = high * (C)p.scale - offset - line.start;
  if (!HALF_PIXEL && extent < 1) extent = 1;
  line.bin = extent / (C)bins;
  const C wanted = p.samples > 0 ? (C)p.samples : ceil_(line.bin);
  line.count = wanted <= (C)MOST_SAMPLES ? (wanted > 0 ? (int)wanted : 0) : -1;
  return line;
}

// The two pixels around a sample along one axis, and the weight of the second.
struct Between {
  bool is_in;
  int low, high;
  C weight;
};

inline Between between(C at, int extent) {
  Between result;
  result.is_in = at >= -1 && at <= (C)extent;
  if (!(at > 0)) at = 0;
  result.low = at < (C)(extent - 1) ? (int)at : extent - 1;
  result.high = result.low + 1 < extent ? result.low + 1 : result.low;
  result.weight = result.high == result.low ? (C)0 : at - (C)result.low;
  return result;
}

KERNEL(RoiParameters) {
  FOR_EACH(i, p.count) {
    Index n = quotient(i, p.columns);
    const int column = (int)(i - n * (Index)p.columns.divisor);
    Index rest = quotient(n, p.rows);
    const int row = (int)(n - rest * (Index)p.rows.divisor);
    const i64 region = (i64)quotient(rest, p.channels);
    const i64 channel = (i64)rest - region * p.channels.divisor;
    const T* box = (const T*)p.regions + 4 * region;
    const Line columns = line_of(p, (C)load(box[0]), (C)load(box[2]), (int)p.columns.divisor);
    const Line rows = line_of(p, (C)load(box[1]), (C)load(box[3]), (int)p.rows.divisor);
    const i64 image = axis_number(p.images[region], p.batch);
    const T* x = (const T*)p.source + (image * p.channels.divisor + channel) * p.height * p.width;
    C pooled = 0;
    bool is_first = true;
    for (int iy = 0; iy < rows.count; ++iy) {
      const Between y = between(rows.at(row, iy), (int)p.height);
      const T* low = x + (i64)y.low * p.width;
      const T* high = x + (i64)y.high * p.width;
      for (int ix = 0; ix < columns.count; ++ix) {
        const Between at = between(columns.at(column, ix), (int)p.width);
        C parts[4] = {0, 0, 0, 0};
        if (y.is_in && at.is_in) {
          parts[0] = (1 - y.weight) * (1 - at.weight) * (C)load(low[at.low]);
          parts[1] = (1 - y.weight) * at.weight * (C)load(low[at.high]);
          parts[2] = y.weight * (1 - at.weight) * (C)load(high[at.low]);
          parts[3] = y.weight * at.weight * (C)load(high[at.high]);
        }
#if TAKES_LARGEST
        // The standard's maximum is over the weighted neighbours, not over their sums.
        for (int k = 0; k < 4; ++k) {
          if (is_first || parts[k] > pooled) pooled = parts[k];
          is_first = false;
        }
#else
        pooled += parts[0] + parts[1] + parts[2] + parts[3];
#endif
      }
    }
    // An invalid region gives NaN: a kernel cannot report an error.
    if (rows.count < 0 || columns.count < 0) pooled = (C)float_of(0x7fc00000u);
#if !TAKES_LARGEST
    const i64 samples = (i64)rows.count * columns.count;
    pooled /= (C)(samples > 1 ? samples : 1);
#endif
    ((T*)p.result)[i] = store<T>(pooled);
  }
}

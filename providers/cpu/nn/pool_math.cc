// SPDX-License-Identifier: Apache-2.0
#include "nn/pool_math.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nn/pool_math.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gantry::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using PoolTag = hn::ScalableTag<float>;
using PoolVec = hn::Vec<PoolTag>;

struct Largest {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  HWY_INLINE PoolVec map(PoolVec x) const { return x; }
  HWY_INLINE PoolVec combine(PoolVec a, PoolVec b) const {
    return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
  }
  HWY_INLINE PoolVec finalize(PoolVec reduced, float /*rows*/, const float* /*columns*/) const {
    return reduced;
  }
};
struct Mean {
  static constexpr float kStart = 0;
  HWY_INLINE PoolVec map(PoolVec x) const { return x; }
  HWY_INLINE PoolVec combine(PoolVec a, PoolVec b) const { return hn::Add(a, b); }
  HWY_INLINE PoolVec finalize(PoolVec reduced, float rows, const float* columns) const {
    const PoolTag d;
    return hn::Div(reduced, hn::Mul(hn::Set(d, rows), hn::LoadU(d, columns)));
  }
};
struct RootOfSquares {
  static constexpr float kStart = 0;
  HWY_INLINE PoolVec map(PoolVec x) const { return hn::Mul(x, x); }
  HWY_INLINE PoolVec combine(PoolVec a, PoolVec b) const { return hn::Add(a, b); }
  HWY_INLINE PoolVec finalize(PoolVec reduced, float /*rows*/, const float* /*columns*/) const {
    return hn::Sqrt(reduced);
  }
};

/// Loads a vector at `x` without reading beyond `end`; lanes beyond it are unspecified.
HWY_INLINE PoolVec load_before(const float* x, const float* end) {
  const PoolTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (HWY_LIKELY(end - x >= lanes)) return hn::LoadU(d, x);
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  std::copy(x, end, buffer);
  return hn::Load(d, buffer);
}

/// Reduces `count` rows into `buffer` from column `pad` on; other elements stay or become kStart.
template <class Op>
HWY_INLINE void join_rows(const Op& op, const simd::PlaneWindows& w, const float* plane,
                          const float* x_end, const int64_t* rows, int64_t count, float* buffer) {
  const PoolTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const PoolVec start = hn::Set(d, Op::kStart);
  float* target = buffer + w.pad;
  for (int64_t i = 0; i < w.width; i += lanes) {
    PoolVec reduced = start;
    if (HWY_LIKELY(count > 0 && i + lanes <= w.width)) {
      reduced = op.map(hn::LoadU(d, plane + rows[0] + i));
      for (int64_t r = 1; r < count; ++r)
        reduced = op.combine(reduced, op.map(hn::LoadU(d, plane + rows[r] + i)));
    } else if (count > 0) {
      reduced = op.map(load_before(plane + rows[0] + i, x_end));
      for (int64_t r = 1; r < count; ++r)
        reduced = op.combine(reduced, op.map(load_before(plane + rows[r] + i, x_end)));
      const auto inside = hn::FirstN(d, static_cast<size_t>(w.width - i));
      reduced = hn::IfThenElse(inside, reduced, start);
    }
    hn::StoreU(reduced, d, target + i);
  }
}

/// Reduces the columns of a vector of windows, the first of which begins at `row`.
template <class Op>
HWY_INLINE PoolVec reduce_columns(const Op& op, const simd::PlaneWindows& w, const float* row) {
  const PoolTag d;
  if (w.stride == 1) {
    PoolVec reduced = hn::LoadU(d, row);
    for (int64_t k = 1; k < w.taps; ++k)
      reduced = op.combine(reduced, hn::LoadU(d, row + k * w.dilation));
    return reduced;
  }
  if (w.stride == 2 && w.dilation == 1) {
    PoolVec even;
    PoolVec odd;
    hn::LoadInterleaved2(d, row, even, odd);
    PoolVec reduced = even;
    for (int64_t k = 1; k < w.taps; ++k) {
      if (k % 2 == 0) hn::LoadInterleaved2(d, row + k, even, odd);
      reduced = op.combine(reduced, k % 2 == 0 ? even : odd);
    }
    return reduced;
  }
  const hn::RebindToSigned<PoolTag> di;
  const auto offsets = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(w.stride)));
  PoolVec reduced = hn::GatherIndex(d, row, offsets);
  for (int64_t k = 1; k < w.taps; ++k)
    reduced = op.combine(reduced, hn::GatherIndex(d, row + k * w.dilation, offsets));
  return reduced;
}

/// Computes the outputs of a line from its reduced rows.
template <class Op>
HWY_INLINE void finish_line(const Op& op, const simd::PlaneWindows& w, const float* buffer,
                            float rows, float* target, const float* y_end) {
  const PoolTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t o = 0; o < w.columns; o += lanes) {
    const PoolVec reduced =
        op.finalize(reduce_columns(op, w, buffer + o * w.stride), rows, w.column_counts + o);
    // Lanes beyond the line are overwritten by the next line.
    if (HWY_LIKELY(target + o + lanes <= y_end)) {
      hn::StoreU(reduced, d, target + o);
    } else {
      HWY_ALIGN float part[HWY_MAX_BYTES / sizeof(float)];
      hn::Store(reduced, d, part);
      std::copy_n(part, std::min(lanes, w.columns - o), target + o);
    }
  }
}

template <class Op>
HWY_INLINE void join_lines(const Op& op, const simd::PlaneWindows& w, const float* x,
                           const float* x_end, int64_t plane, int64_t first, int64_t last,
                           float* buffer, float* y) {
  const int64_t scratch = simd::joining_scratch(w);
  std::fill_n(buffer, scratch, Op::kStart);
  const float* y_end = y + last * w.columns;
  int64_t line = first % w.lines;
  const float* source = x + first / w.lines * plane;
  const int64_t buffer_step = scratch / simd::kPoolLines;
  float row_counts[simd::kPoolLines];
  for (int64_t i = first; i < last; i += simd::kPoolLines) {
    const int64_t lines = std::min(simd::kPoolLines, last - i);
    // Several lines are reduced before the first is read again: reading at once would wait for its
    // stores.
    for (int64_t b = 0; b < lines; ++b) {
      const int64_t begin = line > 0 ? w.row_ends[line - 1] : 0;
      join_rows(op, w, source, x_end, w.rows + begin, w.row_ends[line] - begin,
                buffer + b * buffer_step);
      row_counts[b] = w.row_counts[line];
      if (++line == w.lines) {
        line = 0;
        source += plane;
      }
    }
    for (int64_t b = 0; b < lines; ++b)
      finish_line(op, w, buffer + b * buffer_step, row_counts[b], y + (i + b) * w.columns, y_end);
  }
}

void reduce_windows(simd::Reduction reduction, const simd::PlaneWindows& w, const float* x,
                    const float* x_end, int64_t plane, int64_t first, int64_t last, float* scratch,
                    float* y) {
  switch (reduction) {
    case simd::Reduction::kLargest:
      return join_lines(Largest(), w, x, x_end, plane, first, last, scratch, y);
    case simd::Reduction::kMean:
      return join_lines(Mean(), w, x, x_end, plane, first, last, scratch, y);
    case simd::Reduction::kRootOfSquares:
      return join_lines(RootOfSquares(), w, x, x_end, plane, first, last, scratch, y);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gantry::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::cpu {

int64_t simd::joining_scratch(const PlaneWindows& windows) {
  // The last vectors reach beyond the row and beyond the last window.
  return simd::kPoolLines *
         (std::max(windows.pad + windows.width, windows.reach() + windows.stride * kPoolSlack) +
          2 * kPoolSlack);
}

HWY_EXPORT(reduce_windows);
void simd::reduce_windows(Reduction reduction, const PlaneWindows& windows, const float* x,
                          const float* x_end, int64_t plane, int64_t first, int64_t last,
                          float* scratch, float* y) {
  HWY_DYNAMIC_DISPATCH(reduce_windows)
  (reduction, windows, x, x_end, plane, first, last, scratch, y);
}

}  // namespace gantry::cpu
#endif  // HWY_ONCE

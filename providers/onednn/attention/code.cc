// SPDX-License-Identifier: Apache-2.0
#include "attention/code.h"

#include <algorithm>
#include <limits>

#include "direct/instructions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/code.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "attention/exponential-inl.h"
#include "direct/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::onednn::HWY_NAMESPACE {

static_assert(kKeyBlock % kLanes == 0);

constexpr int kRows = kHasManyRegisters ? 6 : 4;     // queries of a tile
constexpr int kVectors = kHasManyRegisters ? 4 : 2;  // of keys, or of a value

/// scores[r][k] = query r * key k, of kWide vectors of packed keys.
template <int kHigh, int kWide>
HWY_INLINE void score_tile(const Head& h, const float* query, int64_t vector, float* scores,
                           int64_t stride) {
  const F32 d;
  const float* keys[kWide];
  V32 sums[kHigh * kWide];
  for (int v = 0; v < kWide; ++v) {
    const int64_t key = (vector + v) * kLanes;
    keys[v] = h.packed_keys + key / kKeyBlock * h.depth * kKeyBlock + key % kKeyBlock;
  }
  for (V32& sum : sums) sum = hn::Zero(d);
  for (int64_t i = 0; i < h.depth; ++i) {
    V32 row[kWide];
    for (int v = 0; v < kWide; ++v) row[v] = hn::LoadU(d, keys[v] + i * kKeyBlock);
    for (int r = 0; r < kHigh; ++r) {
      const V32 x = hn::Set(d, query[r * h.query_stride + i]);
      for (int v = 0; v < kWide; ++v)
        sums[r * kWide + v] = hn::MulAdd(x, row[v], sums[r * kWide + v]);
    }
  }
  for (int r = 0; r < kHigh; ++r) {
    for (int v = 0; v < kWide; ++v)
      hn::StoreU(sums[r * kWide + v], d, scores + r * stride + (vector + v) * kLanes);
  }
}

template <int kHigh>
void score_packed(const Head& h, const float* query, float* scores, int64_t stride) {
  const int64_t vectors = stride / kLanes;
  int64_t vector = 0;
  for (; vector + kVectors <= vectors; vector += kVectors)
    score_tile<kHigh, kVectors>(h, query, vector, scores, stride);
  for (; vector < vectors; ++vector) score_tile<kHigh, 1>(h, query, vector, scores, stride);
}

/// The same of one query and keys that stand as they came: they are read once, so packing them
/// would cost more than it saves.
void score_plain(const Head& h, const float* query, float* scores) {
  const F32 d;
  constexpr int64_t kTogether = 4;  // keys, whose sums do not wait for each other
  const int64_t whole = h.depth - h.depth % kLanes;
  const hn::Mask<F32> rest = hn::FirstN(d, static_cast<size_t>(h.depth - whole));
  for (int64_t key = 0; key < h.keys; key += kTogether) {
    V32 sums[kTogether];
    for (int64_t k = 0; k < kTogether; ++k) {
      const float* row = h.key + std::min(key + k, h.keys - 1) * h.key_stride;
      sums[k] = hn::Zero(d);
      for (int64_t i = 0; i < whole; i += kLanes)
        sums[k] = hn::MulAdd(hn::LoadU(d, query + i), hn::LoadU(d, row + i), sums[k]);
      if (whole < h.depth) {
        sums[k] = hn::MulAdd(load_lanes(rest, d, query + whole), load_lanes(rest, d, row + whole),
                             sums[k]);
      }
    }
    for (int64_t k = 0; k < std::min(kTogether, h.keys - key); ++k)
      scores[key + k] = hn::GetLane(hn::SumOfLanes(d, sums[k]));
  }
}

/// Scores of one query to weights, which add up to what is returned; NaN if one of them is none.
/// What is behind the last key becomes 0.
float weigh(const Head& h, int64_t query, float* scores, int64_t padded) {
  const F32 d;
  const V32 scale = hn::Set(d, h.scale);
  const float* mask = h.mask ? h.mask + query * h.mask_stride : nullptr;
  const V32 lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  V32 largest = lowest;
  hn::Mask<F32> is_none = hn::FirstN(d, 0);
  for (int64_t key = 0; key < padded; key += kLanes) {
    const auto exists = hn::FirstN(d, static_cast<size_t>(std::max<int64_t>(h.keys - key, 0)));
    V32 x = hn::Mul(hn::LoadU(d, scores + key), scale);
    if (mask) {
      x = hn::Add(x, h.mask_step == 0 ? hn::Set(d, *mask) : load_lanes(exists, d, mask + key));
    }
    x = hn::IfThenElse(exists, x, lowest);
    is_none = hn::Or(is_none, hn::IsNaN(x));
    largest = hn::Max(largest, x);
    hn::StoreU(x, d, scores + key);
  }
  largest = hn::MaxOfLanes(d, largest);
  if (!hn::AllFalse(d, is_none) || hn::GetLane(largest) == -std::numeric_limits<float>::infinity())
    return std::numeric_limits<float>::quiet_NaN();
  V32 sum = hn::Zero(d);
  for (int64_t key = 0; key < padded; key += kLanes) {
    const V32 weight = hn::Exp(d, hn::Sub(hn::LoadU(d, scores + key), largest));
    sum = hn::Add(sum, weight);
    hn::StoreU(weight, d, scores + key);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// Weighted sums of kWide vectors of the values from `column` on, the last of which may be partial.
template <int kHigh, int kWide, bool kIsPartial>
HWY_INLINE void mix_tile(const Head& h, int64_t query, int64_t column, const float* weights,
                         int64_t stride, const float* sums_of_weights) {
  const F32 d;
  constexpr int kLast = (kWide - 1) * static_cast<int>(kLanes);
  const auto lanes = hn::FirstN(d, static_cast<size_t>(h.value_depth - column - kLast));
  V32 sums[kHigh * kWide];
  for (V32& sum : sums) sum = hn::Zero(d);
  for (int64_t key = 0; key < h.keys; ++key) {
    const float* value = h.value + key * h.value_stride + column;
    V32 row[kWide];
    for (int v = 0; v + 1 < kWide; ++v) row[v] = hn::LoadU(d, value + v * kLanes);
    row[kWide - 1] = kIsPartial ? load_lanes(lanes, d, value + kLast) : hn::LoadU(d, value + kLast);
    for (int r = 0; r < kHigh; ++r) {
      const V32 x = hn::Set(d, weights[r * stride + key]);
      for (int v = 0; v < kWide; ++v)
        sums[r * kWide + v] = hn::MulAdd(x, row[v], sums[r * kWide + v]);
    }
  }
  for (int r = 0; r < kHigh; ++r) {
    const V32 factor = hn::Set(d, 1 / sums_of_weights[r]);
    float* to = h.target + (query + r) * h.target_stride + column;
    for (int v = 0; v + 1 < kWide; ++v)
      hn::StoreU(hn::Mul(sums[r * kWide + v], factor), d, to + v * kLanes);
    const V32 last = hn::Mul(sums[r * kWide + kWide - 1], factor);
    if constexpr (kIsPartial) {
      store_lanes(last, lanes, d, to + kLast);
    } else {
      hn::StoreU(last, d, to + kLast);
    }
  }
}

/// The results of kHigh queries.
template <int kHigh>
void attend_rows(const Head& h, int64_t query, float* scores) {
  const int64_t stride = padded_keys(h.keys);
  const float* from = h.query + query * h.query_stride;
  if (h.packed_keys) {
    score_packed<kHigh>(h, from, scores, stride);
  } else {
    for (int r = 0; r < kHigh; ++r) score_plain(h, from + r * h.query_stride, scores + r * stride);
  }
  float sums[kHigh];
  for (int r = 0; r < kHigh; ++r) sums[r] = weigh(h, query + r, scores + r * stride, stride);
  int64_t column = 0;
  for (; column + kVectors * kLanes <= h.value_depth; column += kVectors * kLanes)
    mix_tile<kHigh, kVectors, false>(h, query, column, scores, stride, sums);
  for (; column + kLanes <= h.value_depth; column += kLanes)
    mix_tile<kHigh, 1, false>(h, query, column, scores, stride, sums);
  if (column < h.value_depth) mix_tile<kHigh, 1, true>(h, query, column, scores, stride, sums);
}

void attend_here(const Head& h, int64_t begin, int64_t end, float* scratch) {
  for (; begin + kRows <= end; begin += kRows) attend_rows<kRows>(h, begin, scratch);
  for (; begin + 2 <= end; begin += 2) attend_rows<2>(h, begin, scratch);
  for (; begin < end; ++begin) attend_rows<1>(h, begin, scratch);
}

}  // namespace gantry::onednn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::onednn {

HWY_EXPORT(attend_here);

int64_t attention_scratch(int64_t keys) {
  constexpr int64_t kMostRows = 6;
  return kMostRows * padded_keys(keys);
}

void attend(const Head& head, int64_t begin, int64_t end, float* scratch) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(attend_here)(head, begin, end, scratch);
}

void pack_keys(const float* source, int64_t row, int64_t step, int64_t keys, int64_t depth,
               float* target) {
  for (int64_t first = 0; first < keys; first += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, keys - first);
    for (int64_t i = 0; i < depth; ++i, target += kKeyBlock) {
      const float* from = source + first * row + i * step;
      for (int64_t k = 0; k < count; ++k) target[k] = from[k * row];
      for (int64_t k = count; k < kKeyBlock; ++k) target[k] = 0;
    }
  }
}

}  // namespace gantry::onednn
#endif

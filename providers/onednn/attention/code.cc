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

#if HWY_TARGET == HWY_SCALAR

/// Writes four sums.
HWY_INLINE void store_sums(F32 d, const V32* x, float* to) {
  for (int i = 0; i < 4; ++i) hn::StoreU(x[i], d, to + i);
}

#else

/// The blocks of four lanes of a vector added up.
template <int64_t kCount, class D, class V>
HWY_INLINE auto sum_of_blocks(D d, V x) {
  if constexpr (kCount <= 4) {
    return x;
  } else {
    const hn::Half<D> half;
    return sum_of_blocks<kCount / 2>(half, hn::Add(hn::LowerHalf(half, x), hn::UpperHalf(half, x)));
  }
}

/// Writes the sums of the lanes of four vectors.
HWY_INLINE void store_sums(F32 d, const V32* x, float* to) {
  const hn::RepartitionToWide<F32> pairs;
  const auto halves = [&](V32 a, V32 b) {
    return hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  };
  const auto low = halves(x[0], x[1]);
  const auto high = halves(x[2], x[3]);
  const V32 all = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, low, high)),
                          hn::BitCast(d, hn::InterleaveUpper(pairs, low, high)));
  hn::StoreU(sum_of_blocks<kLanes>(d, all), hn::CappedTag<float, 4>(), to);
}

#endif

/// The same of a few queries and keys that stand as they came: each is read once for all of them,
/// so packing would cost more than it saves. Writes scores of up to three keys too many.
template <int kHigh>
void score_plain(const Head& h, const float* query, float* scores, int64_t stride) {
  const F32 d;
  constexpr int kTogether = 4;
  const int64_t whole = h.depth - h.depth % kLanes;
  const hn::Mask<F32> rest = hn::FirstN(d, static_cast<size_t>(h.depth - whole));
  for (int64_t key = 0; key < h.keys; key += kTogether) {
    const float* rows[kTogether];
    for (int k = 0; k < kTogether; ++k)
      rows[k] = h.key + std::min(key + k, h.keys - 1) * h.key_stride;
    V32 sums[kHigh * kTogether];
    for (V32& sum : sums) sum = hn::Zero(d);
    for (int64_t i = 0; i < whole; i += kLanes) {
      for (int r = 0; r < kHigh; ++r) {
        const V32 x = hn::LoadU(d, query + r * h.query_stride + i);
        for (int k = 0; k < kTogether; ++k)
          sums[r * kTogether + k] =
              hn::MulAdd(x, hn::LoadU(d, rows[k] + i), sums[r * kTogether + k]);
      }
    }
    if (whole < h.depth) {
      V32 ends[kTogether];
      for (int k = 0; k < kTogether; ++k) ends[k] = load_lanes(rest, d, rows[k] + whole);
      for (int r = 0; r < kHigh; ++r) {
        const V32 x = load_lanes(rest, d, query + r * h.query_stride + whole);
        for (int k = 0; k < kTogether; ++k)
          sums[r * kTogether + k] = hn::MulAdd(x, ends[k], sums[r * kTogether + k]);
      }
    }
    for (int r = 0; r < kHigh; ++r) store_sums(d, sums + r * kTogether, scores + r * stride + key);
  }
}

/// Scores of one query to weights, which add up to what is returned; NaN if one of them is none.
/// What is behind the last key becomes 0. Weights of 0 that add up to 1 stand for a query from
/// which all keys are hidden.
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
      const V32 added = h.mask_step == 0 ? hn::Set(d, *mask) : load_lanes(exists, d, mask + key);
      x = hn::Add(x, added);
      if (h.hides) x = hn::IfThenElse(hn::Eq(added, lowest), lowest, x);
    }
    x = hn::IfThenElse(exists, x, lowest);
    is_none = hn::Or(is_none, hn::IsNaN(x));
    largest = hn::Max(largest, x);
    hn::StoreU(x, d, scores + key);
  }
  largest = hn::MaxOfLanes(d, largest);
  const bool sees_nothing = hn::GetLane(largest) == -std::numeric_limits<float>::infinity();
  if (!hn::AllFalse(d, is_none) || (sees_nothing && !h.hides))
    return std::numeric_limits<float>::quiet_NaN();
  if (sees_nothing) {
    std::fill_n(scores, padded, 0.0F);
    return 1;
  }
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
    score_plain<kHigh>(h, from, scores, stride);
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
  if constexpr (kRows > 4) {
    for (; begin + 4 <= end; begin += 4) attend_rows<4>(h, begin, scratch);
  }
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

// SPDX-License-Identifier: Apache-2.0
#include "attention/code.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "simd/instructions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/code.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd/functions-inl.h"
#include "simd/interleave-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

static_assert(kKeyBlock % kLanes == 0);

/// Most queries of a tile: their sums, a few vectors and a factor fill the registers. The more
/// there are, the less often keys and values are read from the L2 cache.
constexpr int kMostRows = kHasManyRegisters ? 14 : 6;
constexpr int kMostPlainRows = kHasManyRegisters ? 6 : 4;  // of a tile with four unpacked keys
static_assert(kMostRows <= kMostQueries);

/// Vectors of keys, or of a value, of a tile of `rows` queries.
constexpr int vectors_of(int rows) { return kHasManyRegisters && rows <= 6 ? 4 : 2; }

/// scores[r][k] = query r * key k, of kWide vectors of packed keys. `queries`: [depth, kHigh].
template <int kHigh, int kWide>
HWY_INLINE void score_tile(const Head& h, const float* queries, int64_t vector, float* scores,
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
      const V32 x = hn::Set(d, queries[i * kHigh + r]);
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
  float* queries = scores + kHigh * stride;  // interleaved: [depth, kHigh]
  interleave_rows(query, h.query_stride, kHigh, h.depth, queries, kHigh);
  constexpr int kVectors = vectors_of(kHigh);
  const int64_t vectors = stride / kLanes;
  int64_t vector = 0;
  for (; vector + kVectors <= vectors; vector += kVectors)
    score_tile<kHigh, kVectors>(h, queries, vector, scores, stride);
  for (; vector < vectors; ++vector) score_tile<kHigh, 1>(h, queries, vector, scores, stride);
}

#if HWY_TARGET == HWY_SCALAR

/// Stores four sums.
HWY_INLINE void store_sums(F32 d, const V32* x, float* to) {
  for (int i = 0; i < 4; ++i) hn::StoreU(x[i], d, to + i);
}

#else

/// The sum of a vector's blocks of four lanes.
template <int64_t kCount, class D, class V>
HWY_INLINE auto sum_of_blocks(D d, V x) {
  if constexpr (kCount <= 4) {
    return x;
  } else {
    const hn::Half<D> half;
    return sum_of_blocks<kCount / 2>(half, hn::Add(hn::LowerHalf(half, x), hn::UpperHalf(half, x)));
  }
}

/// Stores the horizontal sums of four vectors.
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

/// The scores of a few queries with keys that are not packed: each key is read once for all
/// queries, so packing would cost more than it saves. Writes scores of up to three keys beyond the
/// last.
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
        for (int k = 0; k < kTogether; ++k) {
          V32& sum = sums[r * kTogether + k];
          sum = hn::MulAdd(x, hn::LoadU(d, rows[k] + i), sum);
        }
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

/// The maximum of scores; NaN if one of them is NaN.
class Largest {
 public:
  HWY_INLINE Largest()
      : largest_(hn::Set(F32(), -std::numeric_limits<float>::infinity())),
        is_none_(hn::FirstN(F32(), 0)) {}

  HWY_INLINE void add(V32 x) {
    is_none_ = hn::Or(is_none_, hn::IsNaN(x));
    largest_ = hn::Max(largest_, x);
  }
  HWY_INLINE void add(const Largest& other) {
    is_none_ = hn::Or(is_none_, other.is_none_);
    largest_ = hn::Max(largest_, other.largest_);
  }
  [[nodiscard]] HWY_INLINE float of_lanes() const {
    const F32 d;
    if (!hn::AllFalse(d, is_none_)) return std::numeric_limits<float>::quiet_NaN();
    return hn::GetLane(hn::MaxOfLanes(d, largest_));
  }

 private:
  V32 largest_;
  hn::Mask<F32> is_none_;
};

/// Scales the scores of a query and adds the mask. Returns the largest.
float mask_scores(const Head& h, int64_t query, float* scores) {
  const F32 d;
  const V32 scale = hn::Set(d, h.scale);
  const V32 lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const float* mask = h.mask + query * h.mask_stride;
  Largest largest;
  for (int64_t key = 0; key < h.keys; key += kLanes) {
    const auto exists = hn::FirstN(d, static_cast<size_t>(h.keys - key));
    const V32 added = h.mask_step == 0 ? hn::Set(d, *mask) : load_lanes(exists, d, mask + key);
    V32 x = hn::Add(hn::Mul(hn::LoadU(d, scores + key), scale), added);
    if (h.hides) x = hn::IfThenElse(hn::Eq(added, lowest), lowest, x);
    x = hn::IfThenElse(exists, x, lowest);
    largest.add(x);
    hn::StoreU(x, d, scores + key);
  }
  return largest.of_lanes();
}

/// Scales the scores of a query; returns the largest.
float scale_scores(const Head& h, float* scores) {
  const F32 d;
  const V32 scale = hn::Set(d, h.scale);
  constexpr int kTogether = 4;  // independent dependency chains
  Largest largest[kTogether];
  int64_t key = 0;
  for (; key + kTogether * kLanes <= h.keys; key += kTogether * kLanes) {
    for (int i = 0; i < kTogether; ++i) {
      float* at = scores + key + i * kLanes;
      const V32 x = hn::Mul(hn::LoadU(d, at), scale);
      largest[i].add(x);
      hn::StoreU(x, d, at);
    }
  }
  for (; key < h.keys; key += kLanes) {
    const auto exists = hn::FirstN(d, static_cast<size_t>(h.keys - key));
    const V32 lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
    const V32 x = hn::Mul(hn::LoadU(d, scores + key), scale);
    largest[0].add(hn::IfThenElse(exists, x, lowest));
    hn::StoreU(x, d, scores + key);
  }
  for (int i = 1; i < kTogether; ++i) largest[0].add(largest[i]);
  return largest[0].of_lanes();
}

/// Replaces the scores of a query by their exponentials and returns the sum; NaN if the largest
/// score is NaN or infinite. With Head::hides, if all keys are hidden, the weights are 0 and the
/// sum is 1, so that the result is 0.
float weigh(const Head& h, int64_t query, float* scores) {
  const F32 d;
  const float largest = h.mask ? mask_scores(h, query, scores) : scale_scores(h, scores);
  const bool sees_nothing = largest == -std::numeric_limits<float>::infinity();
  if (sees_nothing && h.hides) {
    std::fill_n(scores, h.keys, 0.0F);
    return 1;
  }
  if (!std::isfinite(largest)) return std::numeric_limits<float>::quiet_NaN();
  const V32 factor = hn::Set(d, kLog2OfE);
  const V32 top = hn::Set(d, largest);
  const auto weight_of = [&](int64_t key) HWY_ATTR {
    // Multiplied after the subtraction: the largest score of a masked row may be the lowest float,
    // and its product would be infinite.
    const V32 x = hn::Mul(hn::Sub(hn::LoadU(d, scores + key), top), factor);
    // Results that would be denormal are 0.
    return hn::IfThenElseZero(hn::Ge(x, hn::Set(d, kLeastPower)), power_of_two(x));
  };
  V32 sum = hn::Zero(d);
  int64_t key = 0;
  for (; key + kLanes <= h.keys; key += kLanes) {
    const V32 weight = weight_of(key);
    sum = hn::Add(sum, weight);
    hn::StoreU(weight, d, scores + key);
  }
  if (key < h.keys) {
    const V32 weight =
        hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(h.keys - key)), weight_of(key));
    sum = hn::Add(sum, weight);
    hn::StoreU(weight, d, scores + key);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// Weighted sums of the values for kWide vectors of columns from `column` on; the last may be
/// partial.
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

/// Computes the results of kHigh queries.
template <bool kIsPacked, int kHigh>
void attend_rows(const Head& h, int64_t query, float* scores) {
  const int64_t stride = padded_keys(h.keys);
  const float* from = h.query + query * h.query_stride;
  if constexpr (kIsPacked) {
    score_packed<kHigh>(h, from, scores, stride);
  } else {
    score_plain<kHigh>(h, from, scores, stride);
  }
  float sums[kHigh];
  for (int r = 0; r < kHigh; ++r) sums[r] = weigh(h, query + r, scores + r * stride);
  constexpr int kVectors = vectors_of(kHigh);
  int64_t column = 0;
  for (; column + kVectors * kLanes <= h.value_depth; column += kVectors * kLanes)
    mix_tile<kHigh, kVectors, false>(h, query, column, scores, stride, sums);
  for (; column + kLanes <= h.value_depth; column += kLanes)
    mix_tile<kHigh, 1, false>(h, query, column, scores, stride, sums);
  if (column < h.value_depth) mix_tile<kHigh, 1, true>(h, query, column, scores, stride, sums);
}

/// Masks add this or less to a score that they hide; beside any other score it has a share of 0.
constexpr float kHidden = -1e30F;

/// The head with the keys from the first block to the last key that some query of the tile sees;
/// with all if a query sees none, whose shares then follow from the hidden ones. Requires packed
/// keys and a mask of a number for each key.
Head seen_part(const Head& h, int64_t query, int64_t rows) {
  const int64_t masks = h.mask_stride == 0 ? 1 : rows;
  int64_t begin = h.keys;
  int64_t end = 0;
  for (int64_t r = 0; r < masks; ++r) {
    const float* mask = h.mask + (query + r) * h.mask_stride;
    int64_t last = h.keys;
    while (last > 0 && mask[last - 1] <= kHidden) --last;
    if (last == 0) return h;
    int64_t first = 0;
    while (mask[first] <= kHidden) ++first;
    begin = std::min(begin, first / kKeyBlock * kKeyBlock);
    end = std::max(end, last);
  }
  Head part = h;
  part.keys = end - begin;
  part.packed_keys += begin * h.depth;
  part.value += begin * h.value_stride;
  part.mask += begin;
  return part;
}

bool are_finite_here(const float* source, int64_t rows, int64_t stride, int64_t width) {
  const F32 d;
  const V32 zero = hn::Zero(d);
  V32 sum = zero;  // of products with 0: NaN if one of them is
  for (int64_t row = 0; row < rows; ++row, source += stride) {
    int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) sum = hn::MulAdd(hn::LoadU(d, source + i), zero, sum);
    const auto rest = hn::FirstN(d, static_cast<size_t>(width - i));
    if (i < width) sum = hn::MulAdd(load_lanes(rest, d, source + i), zero, sum);
  }
  return hn::AllTrue(d, hn::Eq(sum, zero));
}

using AttendRows = void (*)(const Head&, int64_t, float*);

template <bool kIsPacked, int... kHigh>
constexpr std::array<AttendRows, sizeof...(kHigh)> table_of(std::integer_sequence<int, kHigh...>) {
  return {attend_rows<kIsPacked, kHigh + 1>...};
}

/// Computes queries [begin, end) in tiles of equal height, or one less.
template <bool kIsPacked>
void attend_tiles(const Head& h, int64_t begin, int64_t end, float* scratch) {
  constexpr int kMost = kIsPacked ? kMostRows : kMostPlainRows;
  static constexpr auto kTable = table_of<kIsPacked>(std::make_integer_sequence<int, kMost>());
  const bool leaves_out = kIsPacked && h.are_finite && h.mask && h.mask_step != 0;
  for (int64_t tiles = (end - begin + kMost - 1) / kMost; tiles > 0; --tiles) {
    const int64_t rows = (end - begin + tiles - 1) / tiles;
    kTable[static_cast<size_t>(rows) - 1](leaves_out ? seen_part(h, begin, rows) : h, begin,
                                          scratch);
    begin += rows;
  }
}

void pack_keys_here(const float* source, int64_t row, int64_t step, int64_t keys, int64_t depth,
                    float* target) {
  for (int64_t first = 0; first < keys; first += kKeyBlock, target += depth * kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, keys - first);
    const float* from = source + first * row;
    if (count < kKeyBlock) std::fill_n(target, depth * kKeyBlock, 0.0F);
    if (step == 1) {
      interleave_rows(from, row, count, depth, target, kKeyBlock);
      continue;
    }
    for (int64_t i = 0; i < depth; ++i) {
      for (int64_t k = 0; k < count; ++k) target[i * kKeyBlock + k] = from[k * row + i * step];
    }
  }
}

void attend_here(const Head& h, int64_t begin, int64_t end, float* scratch) {
  if (h.packed_keys) return attend_tiles<true>(h, begin, end, scratch);
  attend_tiles<false>(h, begin, end, scratch);
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::x86 {

HWY_EXPORT(are_finite_here);
HWY_EXPORT(attend_here);
HWY_EXPORT(pack_keys_here);

int64_t attention_scratch(int64_t keys, int64_t depth) {
  return kMostQueries * (padded_keys(keys) + depth);
}

void attend(const Head& head, int64_t begin, int64_t end, float* scratch) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(attend_here)(head, begin, end, scratch);
}

bool are_finite(const float* source, int64_t rows, int64_t stride, int64_t width) {
  keep_to_allowed_instructions();
  return HWY_DYNAMIC_DISPATCH(are_finite_here)(source, rows, stride, width);
}

void pack_keys(const float* source, int64_t row, int64_t step, int64_t keys, int64_t depth,
               float* target) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(pack_keys_here)(source, row, step, keys, depth, target);
}

}  // namespace gantry::x86
#endif

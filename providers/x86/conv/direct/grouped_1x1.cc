// SPDX-License-Identifier: Apache-2.0
// multiply_groups() of code.h: grouped 1x1 convolutions.
#include <algorithm>

#include "conv/direct/code.h"
#include "simd/instructions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "conv/direct/grouped_1x1.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "conv/direct/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

/// Some vectors of the results of one group.
struct GroupPart {
  int64_t group = 0;
  int64_t vector = 0;  // the first
  const float* source = nullptr;
  const float* addend = nullptr;
  float* target = nullptr;  // all three of the first pixel, with all its channels
};

/// kRows pixels from `pixel` on.
template <int kRows, int kVectors, bool kIsPartial>
HWY_INLINE void multiply_tile(const Grouped1x1& p, const GroupPart& part,
                              const float* const* weights, const V32* bias, hn::Mask<F32> lanes,
                              int64_t pixel) {
  const F32 d;
  const int64_t source_stride = p.groups * p.inner;
  const int64_t target_stride = p.groups * p.columns;
  Tile<kRows, kVectors, kIsPartial> tile;
  tile.lanes = lanes;
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) tile.sums[r * kVectors + v] = bias[v];
  }
  const float* source = part.source + pixel * source_stride + part.group * p.inner;
  for (int64_t k = 0; k < p.inner; ++k) {
    V32 row[kVectors];
    for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(d, weights[v] + k * kChannelBlock);
    for (int r = 0; r < kRows; ++r) {
      const V32 x = hn::Set(d, source[r * source_stride + k]);
      for (int v = 0; v < kVectors; ++v) {
        V32& sum = tile.sums[r * kVectors + v];
        sum = hn::MulAdd(x, row[v], sum);
      }
    }
  }
  const int64_t offset = pixel * target_stride + part.group * p.columns + part.vector * kLanes;
  tile.store(*p.steps, part.addend ? part.addend + offset : nullptr, part.target + offset,
             target_stride);
}

template <int kVectors, bool kIsPartial>
void multiply_vectors(const Grouped1x1& p, const GroupPart& part, int64_t pixels) {
  constexpr int kRows = kHasManyRegisters ? (kVectors == 3 ? 8 : 12) : (kVectors == 2 ? 4 : 8);
  const float* weights[kVectors];
  V32 bias[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const int64_t vector = part.vector + v;
    const int64_t block = part.group * blocks_of(p.columns) + vector / kVectorsOfBlock;
    const int64_t lane = vector % kVectorsOfBlock * kLanes;
    weights[v] = p.weights + block * p.inner * kChannelBlock + lane;
    bias[v] = hn::LoadU(F32(), p.bias + block * kChannelBlock + lane);
  }
  const hn::Mask<F32> lanes = last_lanes(p.columns);
  int64_t pixel = 0;
  for (; pixel + kRows <= pixels; pixel += kRows)
    multiply_tile<kRows, kVectors, kIsPartial>(p, part, weights, bias, lanes, pixel);
  for (; pixel + 4 <= pixels; pixel += 4)
    multiply_tile<4, kVectors, kIsPartial>(p, part, weights, bias, lanes, pixel);
  for (; pixel < pixels; ++pixel)
    multiply_tile<1, kVectors, kIsPartial>(p, part, weights, bias, lanes, pixel);
}

template <bool kIsPartial>
void multiply_part(const Grouped1x1& p, const GroupPart& part, int64_t vectors, int64_t pixels) {
  if (vectors == 1) return multiply_vectors<1, kIsPartial>(p, part, pixels);
  if (vectors == 2 || !kHasManyRegisters) return multiply_vectors<2, kIsPartial>(p, part, pixels);
  multiply_vectors<kHasManyRegisters ? 3 : 2, kIsPartial>(p, part, pixels);
}

void multiply_groups_here(const Grouped1x1& p, const float* source, const float* addend,
                          float* target, int64_t pixels) {
  // Pixels that stay in the L1 cache while all groups are computed.
  constexpr int64_t kStretch = 96;
  constexpr int64_t kMostVectors = kHasManyRegisters ? 3 : 2;
  const int64_t vectors = vectors_of(p.columns);
  for (int64_t first = 0; first < pixels; first += kStretch) {
    const int64_t count = std::min(kStretch, pixels - first);
    GroupPart part;
    part.source = source + first * p.groups * p.inner;
    part.addend = addend ? addend + first * p.groups * p.columns : nullptr;
    part.target = target + first * p.groups * p.columns;
    for (part.group = 0; part.group < p.groups; ++part.group) {
      int64_t taken = 0;
      for (part.vector = 0; part.vector < vectors; part.vector += taken) {
        const int64_t left = vectors - part.vector;
        taken = left == 4 ? 2 : std::min(kMostVectors, left);  // one vector alone is bound by loads
        if (part.vector + taken == vectors && p.columns % kLanes != 0) {
          multiply_part<true>(p, part, taken, count);
        } else {
          multiply_part<false>(p, part, taken, count);
        }
      }
    }
  }
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::x86 {

HWY_EXPORT(multiply_groups_here);

void multiply_groups(const Grouped1x1& product, const float* source, const float* addend,
                     float* target, int64_t pixels) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(multiply_groups_here)(product, source, addend, target, pixels);
}

}  // namespace gantry::x86
#endif

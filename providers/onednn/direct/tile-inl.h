// SPDX-License-Identifier: Apache-2.0
// A tile of results in registers and what is done to it before it is stored, for one of Highway's
// targets: included again for each.
#if defined(GANTRY_ONEDNN_DIRECT_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_ONEDNN_DIRECT_TILE_INL_H_
#undef GANTRY_ONEDNN_DIRECT_TILE_INL_H_
#else
#define GANTRY_ONEDNN_DIRECT_TILE_INL_H_
#endif

#include <vector>

#include "direct/code.h"
#include "direct/functions-inl.h"
#include "direct/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::onednn::HWY_NAMESPACE {

static_assert(kChannelBlock % kLanes == 0);
constexpr int64_t kVectorsOfBlock = kChannelBlock / kLanes;
constexpr int64_t vectors_of(int64_t channels) { return (channels + kLanes - 1) / kLanes; }

/// The lanes of the last of `count` vectors of `channels` channels.
HWY_INLINE hn::Mask<F32> last_lanes(int64_t channels) {
  const int64_t rest = channels % kLanes;
  return hn::FirstN(F32(), static_cast<size_t>(rest == 0 ? kLanes : rest));
}

template <bool kIsPartial>
HWY_INLINE V32 load(const float* from, hn::Mask<F32> lanes) {
  if constexpr (kIsPartial) return load_lanes(lanes, F32(), from);
  return hn::LoadU(F32(), from);
}

/// Not inlined into every tile: a call costs less than its code would.
template <int kCount>
HWY_NOINLINE void apply_sigmoid(V32 (&all)[kCount], const TileStep& step) {
  const F32 d;
  if (step.kind == TileStep::Kind::kSigmoid) {
    for (V32& x : all) x = sigmoid(x);
  } else {
    const V32 alpha = hn::Set(d, step.alpha);
    for (V32& x : all) x = hn::Mul(x, sigmoid(hn::Mul(x, alpha)));
  }
}

/// A tile of results: kRows pixels of kVectors vectors, the last of which may be partial.
template <int kRows, int kVectors, bool kIsPartial>
struct Tile {
  V32 sums[kRows * kVectors];
  hn::Mask<F32> lanes;

  HWY_INLINE void store(const std::vector<TileStep>& steps, const float* addend, float* target,
                        int64_t stride) {
    const F32 d;
    for (const TileStep& step : steps) {
      const V32 alpha = hn::Set(d, step.alpha);
      const V32 beta = hn::Set(d, step.beta);
      switch (step.kind) {
        case TileStep::Kind::kAdd:
          for (int r = 0; r < kRows; ++r) {
            const float* from = addend + r * stride;
            for (int v = 0; v < kVectors; ++v) {
              V32& x = sums[r * kVectors + v];
              x = hn::Add(x, v + 1 < kVectors ? hn::LoadU(d, from + v * kLanes)
                                              : load<kIsPartial>(from + v * kLanes, lanes));
            }
          }
          break;
        case TileStep::Kind::kRelu:
          if (step.alpha == 0) {
            // The second operand is what remains of a pair with something that is not a number.
            for (V32& x : sums) x = hn::Max(hn::Zero(d), x);
          } else {
            for (V32& x : sums) x = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, alpha), x);
          }
          break;
        case TileStep::Kind::kClip:  // what is not a number stays so
          for (V32& x : sums) {
            x = hn::IfThenElse(hn::Lt(x, alpha), alpha, x);
            x = hn::IfThenElse(hn::Gt(x, beta), beta, x);
          }
          break;
        case TileStep::Kind::kHardSigmoid:
        case TileStep::Kind::kHardSwish:
          for (V32& x : sums) {
            V32 gate = hn::MulAdd(x, alpha, beta);
            gate = hn::IfThenZeroElse(hn::Lt(gate, hn::Zero(d)), gate);
            gate = hn::IfThenElse(hn::Gt(gate, hn::Set(d, 1.0F)), hn::Set(d, 1.0F), gate);
            x = step.kind == TileStep::Kind::kHardSwish ? hn::Mul(x, gate) : gate;
          }
          break;
        case TileStep::Kind::kSigmoid:
        case TileStep::Kind::kSwish: {
          V32 all[kRows * kVectors];  // in memory, where the sums themselves must not be
          for (int i = 0; i < kRows * kVectors; ++i) all[i] = sums[i];
          apply_sigmoid(all, step);
          for (int i = 0; i < kRows * kVectors; ++i) sums[i] = all[i];
          break;
        }
      }
    }
    for (int r = 0; r < kRows; ++r) {
      float* to = target + r * stride;
      for (int v = 0; v + 1 < kVectors; ++v) hn::StoreU(sums[r * kVectors + v], d, to + v * kLanes);
      const V32 last = sums[r * kVectors + kVectors - 1];
      if constexpr (kIsPartial) {
        store_lanes(last, lanes, d, to + (kVectors - 1) * kLanes);
      } else {
        hn::StoreU(last, d, to + (kVectors - 1) * kLanes);
      }
    }
  }
};

}  // namespace gantry::onednn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// SPDX-License-Identifier: Apache-2.0
// A tile of results in registers, and its epilogue. Included once for each Highway target.
#if defined(GANTRY_X86_DIRECT_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GANTRY_X86_DIRECT_TILE_INL_H_
#undef GANTRY_X86_DIRECT_TILE_INL_H_
#else
#define GANTRY_X86_DIRECT_TILE_INL_H_
#endif

#include <vector>

#include "conv/direct/code.h"
#include "simd/functions-inl.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

static_assert(kChannelBlock % kLanes == 0);
constexpr int64_t kVectorsOfBlock = kChannelBlock / kLanes;
constexpr int64_t vectors_of(int64_t channels) { return (channels + kLanes - 1) / kLanes; }

/// A mask of the lanes that the last vector of `channels` channels has.
HWY_INLINE hn::Mask<F32> last_lanes(int64_t channels) {
  const int64_t rest = channels % kLanes;
  return hn::FirstN(F32(), static_cast<size_t>(rest == 0 ? kLanes : rest));
}

template <bool kIsPartial>
HWY_INLINE V32 load(const float* from, hn::Mask<F32> lanes) {
  if constexpr (kIsPartial) return load_lanes(lanes, F32(), from);
  return hn::LoadU(F32(), from);
}

/// Clips x to [low, high]. NaN stays NaN: x86's Max and Min return their second operand if one is
/// NaN.
HWY_INLINE V32 bounded(V32 x, V32 low, V32 high) { return hn::Min(high, hn::Max(low, x)); }

/// True of a step that only bounds x: Clip, or Relu without a slope.
inline bool is_bound(const TileStep& step) {
  return step.kind == TileStep::Kind::kClip ||
         (step.kind == TileStep::Kind::kRelu && step.alpha == 0);
}

/// Applies a step other than kAdd to `count` vectors. Not inlined into every tile: a call costs
/// less than the code would.
inline HWY_NOINLINE void apply_function(const TileStep& step, V32* all, int count) {
  const F32 d;
  const V32 alpha = hn::Set(d, step.alpha);
  const V32 beta = hn::Set(d, step.beta);
  const auto each = [&](auto&& function) HWY_ATTR {
    for (int i = 0; i < count; ++i) all[i] = function(all[i]);
  };
  const auto gate = [&](V32 x) HWY_ATTR {
    V32 y = hn::MulAdd(x, alpha, beta);
    y = hn::IfThenZeroElse(hn::Lt(y, hn::Zero(d)), y);
    return hn::IfThenElse(hn::Gt(y, hn::Set(d, 1.0F)), hn::Set(d, 1.0F), y);
  };
  switch (step.kind) {
    case TileStep::Kind::kAdd:
      break;
    case TileStep::Kind::kRelu:
      return each([&](V32 x) HWY_ATTR {
        return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, alpha), x);
      });
    case TileStep::Kind::kClip:
      return each([&](V32 x) HWY_ATTR { return bounded(x, alpha, beta); });
    case TileStep::Kind::kHardSigmoid:
      return each(gate);
    case TileStep::Kind::kHardSwish:
      return each([&](V32 x) HWY_ATTR { return hn::Mul(x, gate(x)); });
    case TileStep::Kind::kSigmoid:
      return each([](V32 x) HWY_ATTR { return sigmoid(x); });
    case TileStep::Kind::kSwish:
      return each([&](V32 x) HWY_ATTR { return hn::Mul(x, sigmoid(hn::Mul(x, alpha))); });
  }
}

/// A tile of results: kRows pixels of kVectors vectors, the last of which may be partial.
template <int kRows, int kVectors, bool kIsPartial>
struct Tile {
  V32 sums[kRows * kVectors];
  hn::Mask<F32> lanes;

  /// Applies the steps and stores the results. The common case, at most one kAdd and then one
  /// bound, stays in registers. `stride`: elements from pixel to pixel.
  HWY_INLINE void store(const std::vector<TileStep>& steps, const float* addend, float* target,
                        int64_t stride) {
    const TileStep* step = steps.data();
    const TileStep* end = step + steps.size();
    if (step != end && step->kind == TileStep::Kind::kAdd) {
      add(addend, stride);
      ++step;
    }
    if (step != end && is_bound(*step)) {
      bound(*step);
      ++step;
    }
    if (step != end) apply(step, end, addend, stride);
    for (int r = 0; r < kRows; ++r) {
      float* to = target + r * stride;
      for (int v = 0; v < kVectors; ++v) store_part(sums[r * kVectors + v], v, to + v * kLanes);
    }
  }

 private:
  /// Vector `v` of a pixel.
  HWY_INLINE V32 load_part(const float* from, int v) const {
    return v + 1 < kVectors ? hn::LoadU(F32(), from) : load<kIsPartial>(from, lanes);
  }
  HWY_INLINE void store_part(V32 x, int v, float* to) const {
    if (!kIsPartial || v + 1 < kVectors) return hn::StoreU(x, F32(), to);
    store_lanes(x, lanes, F32(), to);
  }

  HWY_INLINE void add(const float* addend, int64_t stride) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        V32& x = sums[r * kVectors + v];
        x = hn::Add(x, load_part(addend + r * stride + v * kLanes, v));
      }
    }
  }

  HWY_INLINE void bound(const TileStep& step) {
    const F32 d;
    const bool is_clip = step.kind == TileStep::Kind::kClip;
    const V32 low = hn::Set(d, step.alpha);  // 0 of a Relu
    const V32 high = is_clip ? hn::Set(d, step.beta) : hn::Inf(d);
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        V32& x = sums[r * kVectors + v];
        x = bounded(x, low, high);
      }
    }
  }

  /// Applies any steps, on a copy in memory, so that the sums stay in registers elsewhere.
  HWY_INLINE void apply(const TileStep* step, const TileStep* end, const float* addend,
                        int64_t stride) {
    Tile copy = *this;
    for (; step != end; ++step) {
      if (step->kind == TileStep::Kind::kAdd) {
        copy.add(addend, stride);
      } else {
        apply_function(*step, copy.sums, kRows * kVectors);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) sums[r * kVectors + v] = copy.sums[r * kVectors + v];
    }
  }
};

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

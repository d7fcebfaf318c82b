// SPDX-License-Identifier: Apache-2.0
#include "pool/loops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <type_traits>

#include "simd/instructions.h"

// The loops over channels are left to the compiler, once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pool/loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gantry::x86::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kChannels = PoolLoops::kPartChannels;

/// The spatial axes of a tensor; missing ones have extent 1.
using Axes = std::array<int64_t, 3>;

/// The last entries of a list, without its first `left_out`. Allocates nothing, as each task of a
/// run calls it.
Axes axes_of(const Dims& list, int64_t otherwise, int64_t left_out = 0) {
  Axes axes{otherwise, otherwise, otherwise};
  std::copy(list.begin() + left_out, list.end(), axes.end() - (std::ssize(list) - left_out));
  return axes;
}
Axes spatial_of(const Dims& dims) { return axes_of(dims, 1, 2); }

template <class T>
T stored(const PoolLoops& loops, float mean) {
  if constexpr (std::is_same_v<T, float>) {
    return mean;
  } else {
    const float value = (mean + loops.shift) * loops.factor + loops.zero_point;
    constexpr auto kLow = static_cast<float>(std::numeric_limits<T>::lowest());
    constexpr auto kHigh = static_cast<float>(std::numeric_limits<T>::max());
    return static_cast<T>(std::nearbyint(std::clamp(value, kLow, kHigh)));
  }
}

/// Geometry of the windows, the same for all positions of the output.
struct Geometry {
  explicit Geometry(const PoolLoops& loops)
      : kernel(axes_of(loops.window.kernel, 1)),
        steps(axes_of(loops.window.dilations, 1)),
        strides(axes_of(loops.window.strides, 1)),
        pads(axes_of(loops.pads_begin, 0)),
        input(spatial_of(loops.input)),
        output(spatial_of(loops.output)),
        channels(loops.input[1]) {}

  /// Calls body(offset) for each pixel of the window of `position` inside the input; offset in
  /// elements.
  template <class Body>
  void for_each_tap(int64_t position, const Body& body) const {
    Axes first{};
    for (size_t axis = 3; axis-- > 0;) {
      first[axis] = position % output[axis] * strides[axis] - pads[axis];
      position /= output[axis];
    }
    for (int64_t i = 0; i < kernel[0]; ++i) {
      const int64_t d = first[0] + i * steps[0];
      if (d < 0 || d >= input[0]) continue;
      for (int64_t j = 0; j < kernel[1]; ++j) {
        const int64_t h = first[1] + j * steps[1];
        if (h < 0 || h >= input[1]) continue;
        const int64_t row = ((position * input[0] + d) * input[1] + h) * input[2];
        for (int64_t k = 0; k < kernel[2]; ++k) {
          const int64_t w = first[2] + k * steps[2];
          if (w >= 0 && w < input[2]) body((row + w) * channels);
        }
      }
    }
  }

  Axes kernel;
  Axes steps;
  Axes strides;
  Axes pads;
  Axes input;
  Axes output;
  int64_t channels;
};

/// The maximum of `count` channels of one position.
template <class T, class Count>
void largest(const Geometry& geometry, int64_t position, const T* from, T* to, Count count) {
  using Limits = std::numeric_limits<T>;
  std::array<T, kChannels> held;
  held.fill(Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
  geometry.for_each_tap(position, [&](int64_t offset) {
    const T* x = from + offset;
    for (int64_t c = 0; c < count; ++c) {
      T& most = held[static_cast<size_t>(c)];
      if constexpr (Limits::has_quiet_NaN) {
        most = x[c] > most || x[c] != x[c] ? x[c] : most;  // NaN stays
      } else {
        most = x[c] > most ? x[c] : most;
      }
    }
  });
  std::copy_n(held.begin(), count, to);
}

/// Offsets of the pixels under the window of a position, in elements of the input.
struct Taps {
  static constexpr int64_t kMost = 64;
  std::array<int64_t, kMost> offsets;
  int64_t count = 0;
};

/// The maximum of kVectors vectors of channels of one position.
template <int kVectors>
void largest_vectors(const Taps& taps, const float* from, float* to) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  V all[kVectors];
  V sums[kVectors];  // NaN if an element is NaN
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    all[v] = hn::Neg(hn::Inf(d));
    sums[v] = hn::Zero(d);
  }
  for (int64_t tap = 0; tap < taps.count; ++tap) {
    const float* at = from + taps.offsets[static_cast<size_t>(tap)];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const V x = hn::LoadU(d, at + v * kLanes);
      sums[v] = hn::Add(sums[v], x);
      all[v] = hn::Max(all[v], x);
    }
  }
  V sum = sums[0];
  HWY_UNROLL(4)
  for (int v = 1; v < kVectors; ++v) sum = hn::Add(sum, sums[v]);
  if (!hn::AllFalse(d, hn::IsNaN(sum))) {  // Max drops NaN
    for (int v = 0; v < kVectors; ++v) {
      for (int64_t tap = 0; tap < taps.count; ++tap) {
        const V x = hn::LoadU(d, from + taps.offsets[static_cast<size_t>(tap)] + v * kLanes);
        all[v] = hn::IfThenElse(hn::IsNaN(x), x, all[v]);
      }
    }
  }
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) hn::StoreU(all[v], d, to + v * kLanes);
}

/// The maximum of all channels of one position. Requires at least a vector of them.
void largest_floats(const Taps& taps, int64_t channels, const float* from, float* to) {
  constexpr auto kLanes = static_cast<int64_t>(HWY_LANES(float));
  constexpr int kTogether = 4;
  int64_t c = 0;
  for (; c + kTogether * kLanes <= channels; c += kTogether * kLanes)
    largest_vectors<kTogether>(taps, from + c, to + c);
  for (; c + kLanes <= channels; c += kLanes) largest_vectors<1>(taps, from + c, to + c);
  if (c < channels) {  // overlaps the vector before
    c = channels - kLanes;
    largest_vectors<1>(taps, from + c, to + c);
  }
}

/// Whether there are enough channels, and not too many taps, for largest_floats().
bool has_vectors(const Geometry& geometry) {
  return geometry.channels >= static_cast<int64_t>(HWY_LANES(float)) &&
         geometry.kernel[0] * geometry.kernel[1] * geometry.kernel[2] <= Taps::kMost;
}

void largest_positions(const Geometry& geometry, const float* from, float* to, int64_t begin,
                       int64_t end) {
  const int64_t width = geometry.output[2];
  const int64_t reach = (geometry.kernel[2] - 1) * geometry.steps[2];
  Taps taps;
  int64_t moved = 0;
  bool was_inside = false;
  int64_t x = begin % width;
  for (int64_t position = begin; position < end; ++position) {
    const int64_t left = x * geometry.strides[2] - geometry.pads[2];
    const bool is_inside = left >= 0 && left + reach < geometry.input[2];
    if (is_inside && was_inside && x > 0) {  // the same taps, a stride further
      moved += geometry.strides[2] * geometry.channels;
    } else {
      moved = 0;
      taps.count = 0;
      geometry.for_each_tap(position, [&](int64_t offset) {
        taps.offsets[static_cast<size_t>(taps.count++)] = offset;
      });
    }
    was_inside = is_inside;
    x = x + 1 == width ? 0 : x + 1;
    largest_floats(taps, geometry.channels, from + moved, to + position * geometry.channels);
  }
}

template <class T, class Count>
void mean(const PoolLoops& loops, const Geometry& geometry, int64_t position, const T* from, T* to,
          Count count) {
  using Sum = std::conditional_t<std::is_same_v<T, float>, float, int32_t>;
  std::array<Sum, kChannels> sums{};
  int64_t taps = 0;
  geometry.for_each_tap(position, [&](int64_t offset) {
    const T* x = from + offset;
    for (int64_t c = 0; c < count; ++c) sums[static_cast<size_t>(c)] += static_cast<Sum>(x[c]);
    ++taps;
  });
  if (loops.counts_padding) taps = geometry.kernel[0] * geometry.kernel[1] * geometry.kernel[2];
  const auto divisor = static_cast<float>(std::max<int64_t>(taps, 1));
  for (int64_t c = 0; c < count; ++c)
    to[c] = stored<T>(loops, static_cast<float>(sums[static_cast<size_t>(c)]) / divisor);
}

template <class T>
void pool_here(const PoolLoops& loops, const T* from, T* to, int64_t begin, int64_t end) {
  const Geometry geometry(loops);
  const int64_t channels = geometry.channels;
  if constexpr (std::is_same_v<T, float>) {
    if (loops.is_max && has_vectors(geometry))
      return largest_positions(geometry, from, to, begin, end);
  }
  const int64_t parts = loops.parts_of_position();
  for (int64_t part = begin; part < end; ++part) {
    const int64_t position = part / parts;
    T* const target = to + position * channels;
    const int64_t first = part % parts * kChannels;
    const int64_t last = parts == 1 ? channels : std::min(first + kChannels, channels);
    for (int64_t c = first; c < last; c += kChannels) {
      const auto run = [&](auto count) {
        if (loops.is_max) {
          largest(geometry, position, from + c, target + c, count);
        } else {
          mean(loops, geometry, position, from + c, target + c, count);
        }
      };
      if (channels - c >= kChannels) {
        run(std::integral_constant<int64_t, kChannels>());  // loops of a constant length
      } else {
        run(channels - c);
      }
    }
  }
}

void pool_f32(const PoolLoops& loops, const float* from, float* to, int64_t begin, int64_t end) {
  pool_here(loops, from, to, begin, end);
}
void pool_u8(const PoolLoops& loops, const uint8_t* from, uint8_t* to, int64_t begin, int64_t end) {
  pool_here(loops, from, to, begin, end);
}
void pool_s8(const PoolLoops& loops, const int8_t* from, int8_t* to, int64_t begin, int64_t end) {
  pool_here(loops, from, to, begin, end);
}

}  // namespace gantry::x86::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gantry::x86 {

HWY_EXPORT(pool_f32);
HWY_EXPORT(pool_u8);
HWY_EXPORT(pool_s8);

int64_t PoolLoops::positions() const {
  int64_t count = output[0];
  for (size_t axis = 2; axis < output.size(); ++axis) count *= output[axis];
  return count;
}

int64_t PoolLoops::parts_of_position() const {
  return is_max ? 1 : (input[1] + kPartChannels - 1) / kPartChannels;
}

void pool(const PoolLoops& loops, const float* from, float* to, int64_t begin, int64_t end) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(pool_f32)(loops, from, to, begin, end);
}
void pool(const PoolLoops& loops, const uint8_t* from, uint8_t* to, int64_t begin, int64_t end) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(pool_u8)(loops, from, to, begin, end);
}
void pool(const PoolLoops& loops, const int8_t* from, int8_t* to, int64_t begin, int64_t end) {
  keep_to_allowed_instructions();
  HWY_DYNAMIC_DISPATCH(pool_s8)(loops, from, to, begin, end);
}

}  // namespace gantry::x86
#endif

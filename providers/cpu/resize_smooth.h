// SPDX-License-Identifier: Apache-2.0
// Resizing in modes linear and cubic: one pass per resized axis, in float, or in double where float
// could not hold the elements. Free functions that run in the calling kernel.
#pragma once

#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "dims.h"
#include "resize_axis.h"
#include "resize_nearest.h"
#include "types.h"

namespace gantry::cpu {

/// Weights of one axis.
template <class C>
struct Taps {
  int64_t count;
  const int64_t* sources;
  const C* weights;
  const bool* is_outside;

  Taps(sdk::Call& call, const ResizeRule& rule, const ResizeAxis& axis)
      : count(tap_count(rule, axis)) {
    auto* all_sources = call.scratch<int64_t>(axis.output * count);
    auto* all_weights = call.scratch<C>(axis.output * count);
    auto* outside = call.scratch<bool>(axis.output);
    auto* exact = call.scratch<double>(count);
    for (int64_t k = 0; k < axis.output; ++k) {
      const float coordinate = source_coordinate(rule, axis, k);
      set_taps(rule, axis, coordinate, count, all_sources + k * count, exact);
      std::copy_n(exact, count, all_weights + k * count);
      outside[k] = is_extrapolated(rule, axis, coordinate);
    }
    sources = all_sources;
    weights = all_weights;
    is_outside = outside;
  }
};

/// One pass: [outer, axis.input, inner] to [outer, axis.output, inner].
template <class C>
void interpolate(sdk::Call& call, const ResizeRule& rule, const ResizeAxis& axis, int64_t outer,
                 int64_t inner, const C* source, C* target) {
  const Taps<C> taps(call, rule, axis);
  const auto fill = static_cast<C>(rule.extrapolation);
  const auto row_work = inner * taps.count * static_cast<int64_t>(sizeof(C));
  call.parallel_for(outer * axis.output, std::max<int64_t>(1, kResizeGrainBytes / row_work),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t k = i % axis.output;
                        const C* in = source + i / axis.output * axis.input * inner;
                        const int64_t* sources = taps.sources + k * taps.count;
                        const C* weights = taps.weights + k * taps.count;
                        C* out = target + i * inner;
                        if (taps.is_outside[k]) {
                          std::fill_n(out, inner, fill);
                        } else if (inner == 1) {
                          C sum = 0;
                          for (int64_t t = 0; t < taps.count; ++t)
                            sum += weights[t] * in[sources[t]];
                          *out = sum;
                        } else if (taps.count == 2) {
                          const C* a = in + sources[0] * inner;
                          const C* b = in + sources[1] * inner;
                          for (int64_t x = 0; x < inner; ++x)
                            out[x] = weights[0] * a[x] + weights[1] * b[x];
                        } else {
                          std::fill_n(out, inner, C(0));
                          for (int64_t t = 0; t < taps.count; ++t) {
                            const C* a = in + sources[t] * inner;
                            for (int64_t x = 0; x < inner; ++x) out[x] += weights[t] * a[x];
                          }
                        }
                      }
                    });
}

template <class T, class C>
T to_element(C value) {
  if constexpr (std::is_integral_v<T>) {
    // Rounds to nearest even and saturates.
    const C rounded = std::nearbyint(value);
    if (!(rounded > static_cast<C>(std::numeric_limits<T>::min())))
      return std::numeric_limits<T>::min();
    if (rounded >= static_cast<C>(std::numeric_limits<T>::max()))
      return std::numeric_limits<T>::max();
    return static_cast<T>(rounded);
  } else {
    return static_cast<T>(value);
  }
}

/// Linear and cubic. Elements of 32 bits and more that are not float are computed in double.
template <class T>
void resize_smooth(sdk::Call& call, const ResizeRule& rule, const ResizePlan& plan, const T* source,
                   T* target) {
  using C = std::conditional_t<std::is_same_v<T, float> || sizeof(T) < 4, float, double>;
  Dims shape;
  for (int i = 0; i < plan.rank; ++i) shape.push(plan.axes[i].input);
  int passes_left = 0;
  for (int i = 0; i < plan.rank; ++i)
    passes_left += plan.axes[i].is_identity(rule.transform) ? 0 : 1;
  int64_t count = shape.shape().element_count();
  const C* from = nullptr;
  if constexpr (std::is_same_v<T, C>) {
    from = source;
  } else {
    auto* wide = call.scratch<C>(count);
    for (int64_t i = 0; i < count; ++i)
      wide[i] = static_cast<C>(static_cast<Compute<T>>(source[i]));
    from = wide;
  }
  for (int i = 0; i < plan.rank; ++i) {
    if (plan.axes[i].is_identity(rule.transform)) continue;
    const int64_t outer = shape.shape().count(0, i);
    const int64_t inner = shape.shape().count(i + 1, plan.rank);
    count = outer * plan.axes[i].output * inner;
    C* to = nullptr;
    if constexpr (std::is_same_v<T, C>) to = --passes_left == 0 ? target : nullptr;
    if (!to) to = call.scratch<C>(count);
    interpolate(call, rule, plan.axes[i], outer, inner, from, to);
    shape[i] = plan.axes[i].output;
    from = to;
  }
  if constexpr (std::is_same_v<T, C>) {
    if (from != target) std::copy_n(from, count, target);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i] = to_element<T>(from[i]);
  }
}

}  // namespace gantry::cpu

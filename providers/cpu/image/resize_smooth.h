// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample in modes linear and cubic: one pass for each resized axis, in float, in
// double if float cannot represent the elements, or in the complex type itself.
#pragma once

#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "dims.h"
#include "image/resize_axis.h"
#include "image/resize_nearest.h"
#include "types.h"

namespace gantry::cpu {

/// Weight: the type of the weights of a pass in type C. Computed: the type in which elements C are
/// resized: double for types of 32 bits and more but float, otherwise float.
template <class C>
struct SmoothTypes {
  using Weight = C;
  using Computed = std::conditional_t<std::is_same_v<C, float> || sizeof(C) < 4, float, double>;
};
template <class R>
struct SmoothTypes<std::complex<R>> {
  using Weight = R;
  using Computed = std::complex<R>;
};

/// Taps of one axis; entries [k * count, (k + 1) * count) are those of output position k.
template <class C>
struct Taps {
  using Weight = typename SmoothTypes<C>::Weight;
  int64_t count;
  const int64_t* sources;
  const Weight* weights;
  const bool* is_outside;
  bool any_outside = false;

  Taps(sdk::Call& call, const ResizeRule& rule, const ResizeAxis& axis)
      : count(tap_count(rule, axis)) {
    auto* all_sources = call.scratch<int64_t>(axis.output * count);
    auto* all_weights = call.scratch<Weight>(axis.output * count);
    auto* outside = call.scratch<bool>(axis.output);
    auto* exact = call.scratch<double>(count);
    for (int64_t k = 0; k < axis.output; ++k) {
      const double coordinate = source_coordinate(rule, axis, k);
      set_taps(rule, axis, coordinate, count, all_sources + k * count, exact);
      std::copy_n(exact, count, all_weights + k * count);
      outside[k] = is_extrapolated(rule, axis, coordinate);
      any_outside |= outside[k];
    }
    sources = all_sources;
    weights = all_weights;
    is_outside = outside;
  }
};

/// Interpolates output positions [0, count) of an axis with contiguous elements.
template <class C>
void interpolate_row(const Taps<C>& taps, int64_t count, C fill, const C* in, C* out) {
  if (taps.count == 2) {
    for (int64_t k = 0; k < count; ++k) {
      const auto* weights = taps.weights + 2 * k;
      const int64_t* sources = taps.sources + 2 * k;
      out[k] = weights[0] * in[sources[0]] + weights[1] * in[sources[1]];
    }
  } else {
    for (int64_t k = 0; k < count; ++k) {
      C sum = 0;
      for (int64_t t = k * taps.count; t < (k + 1) * taps.count; ++t) {
        sum += taps.weights[t] * in[taps.sources[t]];
      }
      out[k] = sum;
    }
  }
  if (!taps.any_outside) return;
  for (int64_t k = 0; k < count; ++k) out[k] = taps.is_outside[k] ? fill : out[k];
}

/// Interpolates output position `k` of an axis whose elements are rows of `inner` elements.
template <class C>
void blend_rows(const Taps<C>& taps, int64_t k, int64_t inner, C fill, const C* in, C* out) {
  const int64_t* sources = taps.sources + k * taps.count;
  const auto* weights = taps.weights + k * taps.count;
  if (taps.is_outside[k]) {
    std::fill_n(out, inner, fill);
  } else if (taps.count == 2) {
    const C* a = in + sources[0] * inner;
    const C* b = in + sources[1] * inner;
    const auto [weight_a, weight_b] = std::pair(weights[0], weights[1]);
    for (int64_t x = 0; x < inner; ++x) out[x] = weight_a * a[x] + weight_b * b[x];
  } else {
    std::fill_n(out, inner, C(0));
    for (int64_t t = 0; t < taps.count; ++t) {
      const C* a = in + sources[t] * inner;
      const auto weight = weights[t];
      for (int64_t x = 0; x < inner; ++x) out[x] += weight * a[x];
    }
  }
}

/// One pass: [outer, axis.input, inner] to [outer, axis.output, inner].
template <class C>
void interpolate(sdk::Call& call, const ResizeRule& rule, const ResizeAxis& axis, int64_t outer,
                 int64_t inner, const C* source, C* target) {
  const Taps<C> taps(call, rule, axis);
  const auto fill = static_cast<C>(rule.extrapolation);
  const auto row_bytes = axis.output * inner * taps.count * static_cast<int64_t>(sizeof(C));
  // Rows of the last axis are cheap one by one; of other axes each output row is a unit of work.
  const int64_t parts = inner == 1 ? 1 : axis.output;
  const int64_t grain =
      std::max<int64_t>(1, kResizeGrainBytes / std::max<int64_t>(1, row_bytes / parts));
  call.parallel_for(outer * parts, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const C* in = source + i / parts * axis.input * inner;
      if (inner == 1) {
        interpolate_row(taps, axis.output, fill, in, target + i * axis.output);
      } else {
        blend_rows(taps, i % parts, inner, fill, in, target + i * inner);
      }
    }
  });
}

template <class T, class C>
T to_element(C value) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return Boolean(value != C(0));
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    const C rounded = std::nearbyint(value);  // to nearest even
    if (!(rounded > static_cast<C>(Limits::min()))) return Limits::min();
    if (rounded >= static_cast<C>(Limits::max())) return Limits::max();
    return static_cast<T>(rounded);
  } else {
    return static_cast<T>(value);
  }
}

/// Writes the axes to resize to `order`; returns their number. To keep intermediate results small,
/// axes that shrink come first, then axes that grow, the last (most expensive) one first.
inline int set_pass_order(const ResizeRule& rule, const ResizePlan& plan, int* order) {
  int count = 0;
  const auto is_resized = [&](int i) { return !plan.axes[i].is_identity(rule.transform); };
  const auto shrinks = [&](int i) { return plan.axes[i].output < plan.axes[i].input; };
  for (int i = 0; i < plan.rank; ++i) {
    if (is_resized(i) && shrinks(i)) order[count++] = i;
  }
  for (int i = plan.rank - 1; i >= 0; --i) {
    if (is_resized(i) && !shrinks(i)) order[count++] = i;
  }
  return count;
}

/// Resizes `source` into `target`. Booleans are computed as 0 and 1; a result other than 0 is true.
template <class T>
void resize_smooth(sdk::Call& call, const ResizeRule& rule, const ResizePlan& plan, const T* source,
                   T* target) {
  using C = typename SmoothTypes<T>::Computed;
  Dims shape;
  for (int i = 0; i < plan.rank; ++i) shape.push(plan.axes[i].input);
  int order[kMaxRank];
  int passes_left = set_pass_order(rule, plan, order);
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
  for (int pass = 0, passes = passes_left; pass < passes; ++pass) {
    const int i = order[pass];
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

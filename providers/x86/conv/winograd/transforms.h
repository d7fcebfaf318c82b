// SPDX-License-Identifier: Apache-2.0
// The transforms of F(2, 3) and F(4, 3) along one line of a tile's input, weights or products, for
// kernels.h.
#pragma once

#include <type_traits>

#include "conv/winograd/code.h"
#include "conv/winograd/vectors.h"

namespace gantry::x86::winograd::GANTRY_INSTRUCTIONS {

inline constexpr float kInner2 = kInner * kInner;
inline constexpr float kOuter2 = kOuter * kOuter;

/// Input transform of a line: `d` is read in steps of kFrom, `v` written in steps of kTo.
template <int kFrom, int kTo>
GANTRY_TARGET inline void transform_line(std::integral_constant<int, 2>, const Vector* d,
                                         Vector* v) {
  v[0 * kTo] = d[0 * kFrom] - d[2 * kFrom];
  v[1 * kTo] = d[1 * kFrom] + d[2 * kFrom];
  v[2 * kTo] = d[2 * kFrom] - d[1 * kFrom];
  v[3 * kTo] = d[1 * kFrom] - d[3 * kFrom];
}

template <int kFrom, int kTo>
GANTRY_TARGET inline void transform_line(std::integral_constant<int, 4>, const Vector* d,
                                         Vector* v) {
  constexpr float kSum = kInner2 + kOuter2;
  constexpr float kBoth = kInner2 * kOuter2;
  const Vector d1 = d[1 * kFrom];
  const Vector d2 = d[2 * kFrom];
  const Vector d3 = d[3 * kFrom];
  const Vector d4 = d[4 * kFrom];
  const Vector inner_even = d4 - kOuter2 * d2;
  const Vector inner_odd = d3 - kOuter2 * d1;
  const Vector outer_even = d4 - kInner2 * d2;
  const Vector outer_odd = d3 - kInner2 * d1;
  v[0 * kTo] = kBoth * d[0 * kFrom] + (d4 - kSum * d2);
  v[1 * kTo] = inner_even + kInner * inner_odd;
  v[2 * kTo] = inner_even - kInner * inner_odd;
  v[3 * kTo] = outer_even + kOuter * outer_odd;
  v[4 * kTo] = outer_even - kOuter * outer_odd;
  v[5 * kTo] = kBoth * d1 + (d[5 * kFrom] - kSum * d3);
}

/// Weight transform of a line of three taps.
template <int kFrom, int kTo>
GANTRY_TARGET inline void transform_taps(std::integral_constant<int, 2>, const Vector* g,
                                         Vector* u) {
  const Vector outer = 0.5F * (g[0 * kFrom] + g[2 * kFrom]);
  const Vector middle = 0.5F * g[1 * kFrom];
  u[0 * kTo] = g[0 * kFrom];
  u[1 * kTo] = outer + middle;
  u[2 * kTo] = outer - middle;
  u[3 * kTo] = g[2 * kFrom];
}

template <int kFrom, int kTo>
GANTRY_TARGET inline void transform_taps(std::integral_constant<int, 4>, const Vector* g,
                                         Vector* u) {
  constexpr double kDistance = double{kInner2} - double{kOuter2};
  constexpr auto kZero = static_cast<float>(1 / (double{kInner2} * kOuter2));
  constexpr auto kOfInner = static_cast<float>(1 / (2 * kInner2 * kDistance));
  constexpr auto kOfOuter = static_cast<float>(1 / (2 * kOuter2 * -kDistance));
  const Vector inner_even = kOfInner * (g[0 * kFrom] + kInner2 * g[2 * kFrom]);
  const Vector inner_odd = kOfInner * (kInner * g[1 * kFrom]);
  const Vector outer_even = kOfOuter * (g[0 * kFrom] + kOuter2 * g[2 * kFrom]);
  const Vector outer_odd = kOfOuter * (kOuter * g[1 * kFrom]);
  u[0 * kTo] = kZero * g[0 * kFrom];
  u[1 * kTo] = inner_even + inner_odd;
  u[2 * kTo] = inner_even - inner_odd;
  u[3 * kTo] = outer_even + outer_odd;
  u[4 * kTo] = outer_even - outer_odd;
  u[5 * kTo] = g[2 * kFrom];
}

/// Output transform of a line of products.
template <int kFrom, int kTo>
GANTRY_TARGET inline void restore_line(std::integral_constant<int, 2>, const Vector* m, Vector* y) {
  y[0 * kTo] = m[0 * kFrom] + m[1 * kFrom] + m[2 * kFrom];
  y[1 * kTo] = m[1 * kFrom] - m[2 * kFrom] - m[3 * kFrom];
}

template <int kFrom, int kTo>
GANTRY_TARGET inline void restore_line(std::integral_constant<int, 4>, const Vector* m, Vector* y) {
  const Vector inner_sum = m[1 * kFrom] + m[2 * kFrom];
  const Vector inner_difference = m[1 * kFrom] - m[2 * kFrom];
  const Vector outer_sum = m[3 * kFrom] + m[4 * kFrom];
  const Vector outer_difference = m[3 * kFrom] - m[4 * kFrom];
  y[0 * kTo] = m[0 * kFrom] + inner_sum + outer_sum;
  y[1 * kTo] = kInner * inner_difference + kOuter * outer_difference;
  y[2 * kTo] = kInner2 * inner_sum + kOuter2 * outer_sum;
  y[3 * kTo] =
      kInner * kInner2 * inner_difference + (kOuter * kOuter2 * outer_difference + m[5 * kFrom]);
}

}  // namespace gantry::x86::winograd::GANTRY_INSTRUCTIONS

// SPDX-License-Identifier: Apache-2.0
// The reductions of MaxPool, AveragePool and LpPool: finalize(combine(map(x0), map(x1), ...),
// count) over the elements of a window. reduction() names the same reduction in pool_math.h, if
// there is one. Immutable, any thread.
#pragma once

#include <gantry/sdk/graph.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "dispatch.h"
#include "nn/pool_math.h"

namespace gantry::cpu {

template <class C>
constexpr C lowest() {
  if constexpr (std::numeric_limits<C>::has_infinity) return -std::numeric_limits<C>::infinity();
  return std::numeric_limits<C>::lowest();
}

struct MaxOp {
  using Types = Concat<FloatTypes, TypeList<int8_t, uint8_t>>;
  explicit MaxOp(const sdk::NodeView&) {}
  template <class C>
  static constexpr C kStart = lowest<C>();
  template <class C>
  C map(C x) const {
    return x;
  }
  template <class C>
  C combine(C a, C b) const {
    const C larger = b > a ? b : a;
    return b != b ? b : larger;
  }
  [[nodiscard]] static std::optional<simd::Reduction> reduction() {
    return simd::Reduction::kLargest;
  }
  template <class C>
  C finalize(C reduced, int64_t /*count*/) const {
    return reduced;
  }
};

struct AverageOp {
  using Types = FloatTypes;
  explicit AverageOp(const sdk::NodeView&) {}
  template <class C>
  static constexpr C kStart = C{0};
  template <class C>
  C map(C x) const {
    return x;
  }
  template <class C>
  C combine(C a, C b) const {
    return a + b;
  }
  [[nodiscard]] static std::optional<simd::Reduction> reduction() { return simd::Reduction::kMean; }
  template <class C>
  C finalize(C reduced, int64_t count) const {
    return reduced / static_cast<C>(count);
  }
};

/// Reads attribute p, a float in version 1 and an integer from version 2. Throws INVALID_MODEL
/// unless it is positive.
inline float read_power(const sdk::NodeView& node) {
  const float p = node.since_version() == 1 ? node.get_float("p", 2.0F)
                                            : static_cast<float>(node.get_int("p", 2));
  if (!(p > 0)) {
    node.fail(GANTRY_INVALID_MODEL,
              "attribute p is " + std::to_string(p) + ", expected a positive number");
  }
  return p;
}

struct LpOp {
  using Types = FloatTypes;
  explicit LpOp(const sdk::NodeView& node) : p(read_power(node)) {}
  template <class C>
  static constexpr C kStart = C{0};
  template <class C>
  C map(C x) const {
    if (p == 2.0F) return x * x;
    return p == 1.0F ? std::fabs(x) : std::pow(std::fabs(x), static_cast<C>(p));
  }
  template <class C>
  C combine(C a, C b) const {
    return a + b;
  }
  /// Only p = 2 has a SIMD reduction.
  [[nodiscard]] std::optional<simd::Reduction> reduction() const {
    if (p != 2.0F) return std::nullopt;
    return simd::Reduction::kRootOfSquares;
  }
  template <class C>
  C finalize(C reduced, int64_t /*count*/) const {
    if (p == 2.0F) return std::sqrt(reduced);
    return p == 1.0F ? reduced : std::pow(reduced, C{1} / static_cast<C>(p));
  }
  float p;
};

}  // namespace gantry::cpu

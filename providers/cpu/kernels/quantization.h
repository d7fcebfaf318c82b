// SPDX-License-Identifier: Apache-2.0
// What quantizing operators share: the element types, which scale belongs to which elements, and
// rounding to a quantized type. Plain values, any thread.
#pragma once

#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "dims.h"
#include "dispatch.h"
#include "elements.h"

namespace gantry::cpu {

using QuantizedIntegers = TypeList<uint8_t, int8_t, uint16_t, int16_t, UInt4, Int4, UInt2, Int2>;
using QuantizedFloats =
    TypeList<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float4E2M1>;
using QuantizedTypes = Concat<QuantizedIntegers, QuantizedFloats>;
using ScaleTypes = TypeList<float, Float16, BFloat16, Float8E8M0, int32_t>;

/// Runs of neighbouring elements that one scale, or as many scales as elements, belong to.
class Granularity {
 public:
  struct Run {
    int64_t begin;  ///< first element
    int64_t count;
    int64_t scale;  ///< of the first element
  };

  /// One scale for all, one for each index of `axis`, or (`block` > 0) one for each `block`
  /// neighbours along it. Throws INVALID_ARGUMENT if `scale` has no shape of these.
  Granularity(sdk::Shape x, sdk::Shape scale, int64_t axis, int64_t block,
              const std::string& label) {
    if (scale.element_count() == 1 && (block == 0 || x.rank != scale.rank)) {
      run_ = kPlainRun;
      extent_ = x.element_count();
      per_outer_ = (extent_ + run_ - 1) / run_;
      runs_ = per_outer_;
      scale_per_outer_ = scale_per_run_ = 0;
      return;
    }
    const int64_t at = axis < 0 ? axis + x.rank : axis;
    const bool fits_rank = scale.rank == 1 ? block == 0 : block > 0 && scale.rank == x.rank;
    if (at < 0 || at >= x.rank || !fits_rank || block < 0) fail(x, scale, axis, block, label);
    split(x, scale, static_cast<int>(at), block, label);
  }

  [[nodiscard]] int64_t runs() const { return runs_; }
  /// Distance between the scales of neighbours in a run: 0 or 1.
  [[nodiscard]] int64_t step() const { return step_; }
  /// Runs that are worth a thread.
  [[nodiscard]] int64_t grain() const { return std::max<int64_t>(1, 16384 / run_); }
  /// visit(run) for those in [begin, end): runs may be short, so that no division is made for each.
  template <class Visit>
  void for_each(int64_t begin, int64_t end, Visit visit) const {
    int64_t outer = begin / per_outer_;
    int64_t inner = begin % per_outer_;
    int64_t group = inner / repeat_;
    int64_t in_group = inner % repeat_;
    for (int64_t i = begin; i < end; ++i) {
      visit(Run{outer * extent_ + inner * run_, std::min(run_, extent_ - inner * run_),
                outer * scale_per_outer_ + group * scale_per_run_});
      if (++in_group == repeat_) {
        in_group = 0;
        ++group;
      }
      if (++inner == per_outer_) {
        inner = group = in_group = 0;
        ++outer;
      }
    }
  }

 private:
  static constexpr int64_t kPlainRun = 4096;

  void split(sdk::Shape x, sdk::Shape scale, int axis, int64_t block, const std::string& label) {
    const int64_t inner = x.count(axis + 1, x.rank);
    const int64_t blocks = block > 0 ? (x[axis] + block - 1) / block : x[axis];
    bool fits = scale.rank == 1 ? scale[0] == x[axis] : true;
    for (int i = 0; block > 0 && i < x.rank; ++i) fits &= scale[i] == (i == axis ? blocks : x[i]);
    if (!fits) fail(x, scale, axis, block, label);
    extent_ = std::max<int64_t>(x[axis] * inner, 1);
    // Along the last axis a run is a block, or the whole axis with a scale for each element.
    if (inner == 1) {
      run_ = block > 0 ? block : std::max<int64_t>(x[axis], 1);
      step_ = block > 0 ? 0 : 1;
      scale_per_run_ = block > 0 ? 1 : 0;
    } else {
      run_ = std::max<int64_t>(inner, 1);
      step_ = block > 0 ? 1 : 0;
      repeat_ = block > 0 ? block : 1;
      scale_per_run_ = block > 0 ? inner : 1;
    }
    per_outer_ = (extent_ + run_ - 1) / run_;
    scale_per_outer_ = block > 0 ? blocks * inner : 0;
    runs_ = x.element_count() == 0 ? 0 : x.count(0, axis) * per_outer_;
  }

  [[noreturn]] static void fail(sdk::Shape x, sdk::Shape scale, int64_t axis, int64_t block,
                                const std::string& label) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, label + ": a scale of shape " + to_string(scale) +
                                                  " does not fit data of shape " + to_string(x) +
                                                  " along axis " + std::to_string(axis) +
                                                  " with blocks of " + std::to_string(block) +
                                                  " (0: none)");
  }

  int64_t runs_ = 0;
  int64_t run_ = 1;        ///< elements of a run; the last before an outer end may be shorter
  int64_t per_outer_ = 1;  ///< runs of `extent_` elements
  int64_t extent_ = 1;
  int64_t repeat_ = 1;  ///< runs that share their scales
  int64_t scale_per_outer_ = 0;
  int64_t scale_per_run_ = 0;
  int64_t step_ = 0;
};

/// Of the type list QuantizedIntegers.
template <class U>
inline constexpr bool kIsQuantizedInteger =
    std::is_integral_v<U> || std::is_same_v<U, UInt4> || std::is_same_v<U, Int4> ||
    std::is_same_v<U, UInt2> || std::is_same_v<U, Int2>;

/// Least and greatest value of a quantized integer type.
template <class U>
constexpr int least_of() {
  if constexpr (std::is_integral_v<U>) {
    return std::numeric_limits<U>::min();
  } else {
    constexpr bool kIsSigned = std::is_same_v<U, Int4> || std::is_same_v<U, Int2>;
    return kIsSigned ? -(1 << (U::kBits - 1)) : 0;
  }
}
template <class U>
constexpr int greatest_of() {
  if constexpr (std::is_integral_v<U>) {
    return std::numeric_limits<U>::max();
  } else {
    return least_of<U>() + (1 << U::kBits) - 1;
  }
}

/// Nearest integer, halves to even. Without a call, so that loops over it become vectors; beyond
/// 2^21, where every quantized type is saturated, the result is 2^21.
template <class C>
C round_bounded(C x) {
  constexpr C kLimit = C(1 << 21);
  constexpr C kMagic = std::is_same_v<C, float> ? C(0x1.8p23) : C(0x1.8p52);
  const C bounded = x > -kLimit ? (x < kLimit ? x : kLimit) : -kLimit;
  return (bounded + kMagic) - kMagic;
}

/// saturate(round(x) + zero_point); a float type rounds the sum instead.
template <class U, class C>
U quantize(C x, C zero_point, bool saturate) {
  if constexpr (kIsQuantizedInteger<U>) {
    constexpr C kLow = C(least_of<U>());
    constexpr C kHigh = C(greatest_of<U>());
    const C sum = round_bounded(x) + zero_point;
    const int value = static_cast<int>(sum > kLow ? (sum < kHigh ? sum : kHigh) : kLow);
    if constexpr (SmallNumber<U>) {
      return {static_cast<uint8_t>(value & ((1 << U::kBits) - 1))};
    } else {
      return static_cast<U>(value);
    }
  } else if constexpr (std::is_same_v<U, Float4E2M1>) {
    return U::from_float(static_cast<float>(x + zero_point));
  } else {
    return U::from_float(static_cast<float>(x + zero_point), saturate);
  }
}

/// The elements of an input as C, in scratch memory.
template <class Types, class C>
C* read_as(sdk::Call& call, int slot) {
  const gantry_tensor& tensor = call.input(slot);
  const int64_t count = sdk::Shape(tensor).element_count();
  const std::byte* units = read_units(call, slot);
  auto* target = call.scratch<C>(count);
  dispatch<Types>(tensor.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const auto* source = reinterpret_cast<const T*>(units);
    call.parallel_for(count, 32768, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        target[i] = static_cast<C>(static_cast<Compute<T>>(source[i]));
    });
  });
  return target;
}

}  // namespace gantry::cpu

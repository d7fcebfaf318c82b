// SPDX-License-Identifier: Apache-2.0
// Clip: bounds from attributes below version 11, from optional inputs since then.
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "elementwise/elementwise.h"
#include "families.h"
#include "simd/vector_math.h"

namespace gantry::cpu {
namespace {

/// min(max(x, low), high). NaN elements stay NaN. Requires bounds that are not NaN.
template <class C>
struct Clamp {
  template <class T>
  T operator()(T x) const {
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;
  }
  void map(const float* x, float* y, int64_t n) const requires std::is_same_v<C, float> {
    const float bounds[2] = {low, high};
    simd::clip(x, y, n, bounds);
  }
  C low;
  C high;
};

/// Fills the output with NaN, as Max and Min do for a NaN bound.
template <class C>
struct AlwaysNan {
  template <class T>
  T operator()(T) const {
    return static_cast<T>(std::numeric_limits<C>::quiet_NaN());
  }
};

template <class T>
void clip(sdk::Call& call, Compute<T> low, Compute<T> high) {
  const gantry_tensor& x = call.input(0);
  const sdk::Shape shape(x);
  const auto* source = static_cast<const T*>(x.data);
  auto* target = static_cast<T*>(call.output(0, x.dtype, shape).data);
  const auto run = [&](const auto& map) {
    call.parallel_for(shape.element_count(), kPlainGrain, [&](int64_t begin, int64_t end) {
      map_elements(map, source + begin, target + begin, end - begin);
    });
  };
  if constexpr (std::is_floating_point_v<Compute<T>>) {
    if (std::isnan(low) || std::isnan(high)) return run(AlwaysNan<Compute<T>>{});
  }
  run(Clamp<Compute<T>>{low, high});
}

/// Bounds from attributes. An absent bound is no bound in version 1, and the lowest or largest f32
/// from version 6 on.
template <bool kIsVersion1>
class ClipByAttributes final : public NodeKernel {
 public:
  explicit ClipByAttributes(const sdk::NodeView& node)
      : NodeKernel(node),
        low_(node.get_float("min", -kLimit)),
        high_(node.get_float("max", kLimit)) {}

  void run(sdk::Call& call) const override {
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      clip<T>(call, static_cast<Compute<T>>(low_), static_cast<Compute<T>>(high_));
    });
  }

 private:
  static constexpr float kLimit =
      kIsVersion1 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::max();

  float low_;
  float high_;
};

class ClipByInputs final : public NodeKernel {
 public:
  explicit ClipByInputs(const sdk::NodeView& node) : NodeKernel(node) {}

  void run(sdk::Call& call) const override {
    dispatch<NumberTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      clip<T>(call, bound<T>(call, 1).value_or(lowest<T>()),
              bound<T>(call, 2).value_or(highest<T>()));
    });
  }

 private:
  template <class T>
  std::optional<Compute<T>> bound(sdk::Call& call, int slot) const {
    if (!call.has_input(slot)) return std::nullopt;
    const gantry_tensor& tensor = call.input(slot);
    if (tensor.dtype != kDType<T> || sdk::Shape(tensor).element_count() != 1) {
      fail("input " + std::to_string(slot) + " has shape " + to_string(sdk::Shape(tensor)) +
           ", a bound must be one element of the data's type");
    }
    return static_cast<Compute<T>>(*static_cast<const T*>(tensor.data));
  }
  /// An absent bound is the type's lowest or largest finite number, so infinities become finite.
  template <class T>
  static Compute<T> highest() {
    if constexpr (std::is_same_v<T, Float16>) {
      return 65504.0F;
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      return static_cast<float>(std::bit_cast<BFloat16>(uint16_t{0x7F7F}));
    } else {
      return std::numeric_limits<T>::max();
    }
  }
  template <class T>
  static Compute<T> lowest() {
    if constexpr (std::is_integral_v<T>) {
      return std::numeric_limits<T>::min();
    } else {
      return -highest<T>();
    }
  }
};

constexpr sdk::KernelRow kClipRows[] = {
    {"Clip", 1, 5, sdk::kFloats, sdk::make<ClipByAttributes<true>>, kOverFirst},
    {"Clip", 6, 10, sdk::kFloats, sdk::make<ClipByAttributes<false>>, kOverFirst},
    {"Clip", 11, sdk::kLatest, sdk::kNumbers, sdk::make<ClipByInputs>, kOverFirst},
};

}  // namespace

sdk::KernelTable clip_kernels() { return sdk::table(kClipRows); }

}  // namespace gantry::cpu

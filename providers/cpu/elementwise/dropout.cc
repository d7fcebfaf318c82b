// SPDX-License-Identifier: Apache-2.0
// Dropout. At inference it is the identity, with a mask of ones. In training the mask is drawn as
// by numpy's legacy generator with the same seed, as in ONNX's reference implementation; without a
// seed each run draws a new one.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>

#include "elementwise/elementwise.h"
#include "families.h"
#include "random/mersenne_twister.h"

namespace gantry::cpu {
namespace {

using DropoutTypes = Concat<FloatTypes, Float8Types>;

uint32_t fresh_seed() {
  static constinit std::atomic<uint64_t> runs{0};
  const auto now =
      static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  const uint64_t mixed = (now ^ (runs.fetch_add(1) << 40)) * 0x9E3779B97F4A7C15U;
  return static_cast<uint32_t>(mixed >> 32);
}

/// An integer of 53 bits from two draws; over 2^53 it is uniform over [0, 1).
uint64_t uniform_bits(const uint32_t* draws) {
  return (static_cast<uint64_t>(draws[0] >> 5) << 26) | (draws[1] >> 6);
}

/// Writes the outputs of a run that drops nothing: x, and if used a mask of ones of type M.
template <class M>
void keep_all(sdk::Call& call) {
  const gantry_tensor& x = call.input(0);
  const sdk::Shape shape(x);
  if (call.wants(0)) {
    const gantry_tensor& y = call.output(0, x.dtype, shape);
    if (y.data != x.data && x.size_bytes) std::memcpy(y.data, x.data, x.size_bytes);
  }
  if (call.wants(1)) {
    auto* mask = static_cast<M*>(call.output(1, kDType<M>, shape).data);
    std::fill(mask, mask + shape.element_count(), static_cast<M>(static_cast<Compute<M>>(1)));
  }
}

/// y = x / (1 - ratio) where kept, else 0; `mask` may be null.
template <class T, class M>
void drop(sdk::Call& call, double ratio, uint32_t seed) {
  const gantry_tensor& x = call.input(0);
  const sdk::Shape shape(x);
  const int64_t count = shape.element_count();
  const auto* source = static_cast<const T*>(x.data);
  auto* target = call.wants(0) ? static_cast<T*>(call.output(0, x.dtype, shape).data) : nullptr;
  auto* mask = call.wants(1) ? static_cast<M*>(call.output(1, kDType<M>, shape).data) : nullptr;
  const auto scale = static_cast<Compute<T>>(1.0 / (1.0 - ratio));
  MersenneTwister generator(seed);
  const auto least = static_cast<uint64_t>(std::ceil(ratio * 0x1p53));
  // Draws a block first, then applies it without branches, which would be mispredicted.
  constexpr int64_t kBlock = 512;
  uint32_t draws[2 * kBlock];
  bool is_kept[kBlock];
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t n = std::min(kBlock, count - first);
    generator.fill(draws, 2 * n);
    for (int64_t i = 0; i < n; ++i) is_kept[i] = uniform_bits(draws + 2 * i) >= least;
    for (int64_t i = 0; target && i < n; ++i) {
      const Compute<T> choices[2] = {Compute<T>{0},
                                     static_cast<Compute<T>>(source[first + i]) * scale};
      target[first + i] = static_cast<T>(choices[static_cast<int>(is_kept[i])]);
    }
    for (int64_t i = 0; mask && i < n; ++i)
      mask[first + i] = static_cast<M>(static_cast<Compute<M>>(is_kept[i]));
  }
}

/// Versions 1 and 6: attribute `is_test` says whether to drop; 7 and 10: never. The mask has the
/// data's type until version 10.
template <bool kHasTestMode, bool kIsBoolMask>
class DropoutByAttributes final : public NodeKernel {
 public:
  explicit DropoutByAttributes(const sdk::NodeView& node)
      : NodeKernel(node),
        is_test_(!kHasTestMode || node.get_int("is_test", 0) != 0),
        ratio_(static_cast<double>(node.get_float("ratio", 0.5F))) {
    if (!(ratio_ >= 0 && ratio_ <= 1))
      node.fail(GANTRY_INVALID_MODEL, "attribute ratio must be from 0 to 1");
  }

  void run(sdk::Call& call) const override {
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      using M = std::conditional_t<kIsBoolMask, bool, T>;
      if (is_test_ || ratio_ == 0) return keep_all<M>(call);
      drop<T, M>(call, ratio_, fresh_seed());
    });
  }

 private:
  bool is_test_;
  double ratio_;
};

/// Version 12 and later: inputs `ratio` and `training_mode`.
class DropoutByInputs final : public NodeKernel {
 public:
  explicit DropoutByInputs(const sdk::NodeView& node) : NodeKernel(node) {
    if (node.has("seed")) seed_ = static_cast<uint32_t>(node.get_int("seed", 0));
  }

  void run(sdk::Call& call) const override {
    const double ratio = ratio_of(call);
    if (ratio == 0 || !is_training(call)) return keep_all<bool>(call);
    dispatch<DropoutTypes>(call.input(0).dtype, [&](auto type) {
      drop<typename decltype(type)::type, bool>(call, ratio, seed_.value_or(fresh_seed()));
    });
  }

 private:
  [[nodiscard]] double ratio_of(sdk::Call& call) const {
    double ratio = 0.5;
    if (call.has_input(1)) {
      require_one(call, 1);
      dispatch<DropoutTypes>(call.input(1).dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        ratio = static_cast<double>(static_cast<Compute<T>>(*call.data<T>(1)));
      });
    }
    if (!(ratio >= 0 && ratio <= 1))
      fail("ratio is " + std::to_string(ratio) + ", must be from 0 to 1");
    return ratio;
  }
  [[nodiscard]] bool is_training(sdk::Call& call) const {
    if (!call.has_input(2)) return false;
    require_one(call, 2);
    if (call.input(2).dtype != GANTRY_BOOL) fail("training_mode must be a bool");
    return *call.data<uint8_t>(2) != 0;
  }
  void require_one(sdk::Call& call, int slot) const {
    if (call.shape(slot).element_count() != 1) {
      fail("input " + std::to_string(slot) + " has shape " + to_string(call.shape(slot)) +
           ", needs one element");
    }
  }

  std::optional<uint32_t> seed_;
};

constexpr sdk::DTypeSet kDropoutTypes = dtype_set(DropoutTypes{});

constexpr sdk::KernelRow kDropoutRows[] = {
    {"Dropout", 1, 6, sdk::kFloats, sdk::make<DropoutByAttributes<true, false>>, kOverFirst},
    {"Dropout", 7, 9, sdk::kFloats, sdk::make<DropoutByAttributes<false, false>>, kOverFirst},
    {"Dropout", 10, 11, sdk::kFloats, sdk::make<DropoutByAttributes<false, true>>, kOverFirst},
    {"Dropout", 12, sdk::kLatest, kDropoutTypes, sdk::make<DropoutByInputs>, kOverFirst},
};

}  // namespace

sdk::KernelTable dropout_kernels() { return sdk::table(kDropoutRows); }

}  // namespace gantry::cpu

// SPDX-License-Identifier: Apache-2.0
// Quantized convolution: ConvInteger, QLinearConv. The operands, minus their zero points, are
// convolved in f32 if every sum is exact in f32, otherwise in f64.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>

#include "dispatch.h"
#include "families.h"
#include "nn/convolution.h"
#include "quantization/quantization.h"

namespace gantry::cpu {
namespace {

using Int8Types = TypeList<uint8_t, int8_t>;

/// Largest window for which sums of products of 8-bit values minus zero points stay below 2^24,
/// where f32 is exact.
constexpr int64_t kMaxExactDepth = 256;

/// The filters of an int8 convolution, each centred: minus an integer of its own, which at least
/// halves the magnitude of the sums. A filter of ones is appended to each group; its sums, times
/// that integer, restore the sums of the original filters.
class CentredFilters {
 public:
  /// w: [groups * features, depth], integers of magnitude at most 255.
  CentredFilters(sdk::Call& call, const ConvShape& shape, const float* w)
      : filters_(shape.features),
        weights_(call.scratch<float>(shape.groups * (filters_ + 1) * shape.depth())),
        centres_(call.scratch<int32_t>(shape.groups * filters_)) {
    const int64_t depth = shape.depth();
    are_exact_ = 255 * depth < kExact && 255 * 255 * depth <= INT32_MAX;
    float* target = weights_;
    for (int64_t f = 0; f < shape.groups * filters_; ++f, w += depth, target += depth) {
      const float centre = std::nearbyint(std::accumulate(w, w + depth, 0.0F) / depth);
      float magnitude = 0;
      for (int64_t i = 0; i < depth; ++i) {
        target[i] = w[i] - centre;
        magnitude += std::abs(target[i]);
      }
      are_exact_ = are_exact_ && 255 * static_cast<double>(magnitude) < kExact;
      centres_[f] = static_cast<int32_t>(centre);
      if ((f + 1) % filters_ == 0) target = std::fill_n(target + depth, depth, 1.0F) - depth;
    }
  }

  /// True if every centred sum is exact in f32 and every restored sum fits int32.
  [[nodiscard]] bool are_exact() const { return are_exact_; }
  [[nodiscard]] const float* weights() const { return weights_; }
  /// Restores plane `plane` of [batch * groups * features], of `count` sums, from `sums`, the
  /// result of the convolution with weights().
  void restore(const float* sums, int64_t plane, int64_t groups, int64_t count, int32_t* y) const {
    const int64_t group = plane / filters_;
    const float* own = sums + (plane + group) * count;
    const float* ones = sums + (group * (filters_ + 1) + filters_) * count;
    const int32_t centre = centres_[plane % (groups * filters_)];
    for (int64_t i = 0; i < count; ++i)
      y[i] = static_cast<int32_t>(own[i]) + centre * static_cast<int32_t>(ones[i]);
  }

 private:
  static constexpr double kExact = 1 << 24;

  int64_t filters_;  ///< of a group
  float* weights_;
  int32_t* centres_;
  bool are_exact_;
};

class QuantizedConvolution : public ConvKernel {
 protected:
  explicit QuantizedConvolution(const sdk::NodeView& node) : ConvKernel(node) {}

  /// Input slots of the operands.
  struct Slots {
    int x;
    int x_zero;
    int w;
    int w_zero;
  };

  /// Calls use(sums) with the exact sums as float, double or int32_t. Requires a `shape` completed
  /// by make_output().
  template <class Use>
  void convolve(sdk::Call& call, const ConvShape& shape, const Slots& slots, Use use) const {
    const int64_t planes = shape.batch * shape.groups * shape.features;
    if (shape.depth() <= kMaxExactDepth) return use(sums_of<float>(call, shape, slots));
    const CentredFilters filters(call, shape, operand<float>(call, slots.w, slots.w_zero, true));
    if (!filters.are_exact()) return use(sums_of<double>(call, shape, slots));
    ConvShape wider = shape;
    ++wider.features;
    auto* sums = call.scratch<float>(shape.batch * shape.groups * wider.features * shape.out_plane);
    const float* x = operand<float>(call, slots.x, slots.x_zero, false);
    Convolution<float>(call, wider, x, filters.weights(), nullptr, sums).run();
    auto* whole = call.scratch<int32_t>(planes * shape.out_plane);
    const int64_t grain = std::max<int64_t>(1, 16384 / shape.out_plane);
    call.parallel_for(planes, grain, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        filters.restore(sums, plane, shape.groups, shape.out_plane,
                        whole + plane * shape.out_plane);
      }
    });
    use(whole);
  }

 private:
  template <class C>
  const C* sums_of(sdk::Call& call, const ConvShape& shape, const Slots& slots) const {
    const C* x = operand<C>(call, slots.x, slots.x_zero, false);
    const C* w = operand<C>(call, slots.w, slots.w_zero, true);
    auto* sums = call.scratch<C>(shape.batch * shape.groups * shape.features * shape.out_plane);
    Convolution<C>(call, shape, x, w, nullptr, sums).run();
    return sums;
  }

  template <class C>
  const C* operand(sdk::Call& call, int slot, int zero_slot, bool is_weight) const {
    auto* values = read_as<Int8Types, C>(call, slot);
    if (!call.has_input(zero_slot)) return values;
    if (call.input(zero_slot).dtype != call.input(slot).dtype)
      fail("input " + std::to_string(zero_slot) + " must have the element type of its data");
    const sdk::Shape shape = call.shape(slot);
    const int64_t zeros = call.shape(zero_slot).element_count();
    if (zeros != 1 && !(is_weight && zeros == shape[0])) {
      fail("input " + std::to_string(zero_slot) + " has shape " + to_string(call.shape(zero_slot)) +
           ", needs one number" + (is_weight ? " or one for each output channel" : ""));
    }
    const auto* zero = read_as<Int8Types, C>(call, zero_slot);
    const int64_t count = shape.element_count();
    const int64_t stretch = std::max<int64_t>(count / zeros, 1);
    call.parallel_for(count, 32768, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) values[i] -= zero[i / stretch];
    });
    return values;
  }
};

class ConvInteger final : public QuantizedConvolution {
 public:
  explicit ConvInteger(const sdk::NodeView& node) : QuantizedConvolution(node) {}

  void run(sdk::Call& call) const override {
    ConvShape shape = resolve(call, 0, 1);
    gantry_tensor* output = make_output(call, GANTRY_INT32, call.shape(0), shape);
    if (!output) return;
    convolve(call, shape, {0, 2, 1, 3}, [&](const auto* sums) { store(call, sums, *output); });
  }

 private:
  template <class C>
  static void store(sdk::Call& call, const C* sums, const gantry_tensor& output) {
    auto* y = static_cast<int32_t*>(output.data);
    call.parallel_for(sdk::Shape(output).element_count(), 32768, [&](int64_t begin, int64_t end) {
      // Sums beyond int32 wrap around.
      for (int64_t i = begin; i < end; ++i)
        y[i] = static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(sums[i])));
    });
  }
};

class QLinearConv final : public QuantizedConvolution {
 public:
  explicit QLinearConv(const sdk::NodeView& node) : QuantizedConvolution(node) {}

  void run(sdk::Call& call) const override {
    ConvShape shape = resolve(call, 0, 3);
    check_bias(call, 8, shape);
    const int64_t features = shape.groups * shape.features;
    for (const int slot : {1, 6, 7}) {
      if (call.shape(slot).element_count() != 1) {
        fail("input " + std::to_string(slot) + " has shape " + to_string(call.shape(slot)) +
             ", needs one number");
      }
    }
    const int64_t scales = call.shape(4).element_count();
    if (scales != 1 && scales != features) {
      fail("the scale of the weights has shape " + to_string(call.shape(4)) +
           ", needs one number or one for each output channel");
    }
    const uint32_t dtype = call.input(7).dtype;
    gantry_tensor* output = make_output(call, dtype, call.shape(0), shape);
    if (!output) return;
    convolve(call, shape, {0, 2, 3, 5},
             [&](const auto* sums) { store(call, shape, sums, *output); });
  }

 private:
  template <class C>
  static void store(sdk::Call& call, const ConvShape& shape, const C* sums,
                    const gantry_tensor& output) {
    const float x_scale = *call.data<float>(1);
    const auto* w_scale = call.data<float>(4);
    const float y_scale = *call.data<float>(6);
    const auto* bias = call.has_input(8) ? call.data<int32_t>(8) : nullptr;
    const int64_t w_step = call.shape(4).element_count() == 1 ? 0 : 1;
    const int64_t features = shape.groups * shape.features;
    dispatch<Int8Types>(output.dtype, [&](auto type) {
      using U = typename decltype(type)::type;
      const auto zero = static_cast<float>(*call.data<U>(7));
      auto* y = static_cast<U*>(output.data);
      const int64_t plane = shape.out_plane;
      const int64_t grain = std::max<int64_t>(1, 16384 / plane);
      call.parallel_for(shape.batch * features, grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const float factor = x_scale * w_scale[row % features * w_step] / y_scale;
          // The bias is int32.
          const double added = bias ? bias[row % features] : 0;
          for (int64_t i = row * plane; i < (row + 1) * plane; ++i) {
            const auto sum = static_cast<float>(static_cast<double>(sums[i]) + added);
            y[i] = quantize<U>(sum * factor, zero, true);
          }
        }
      });
    });
  }
};

constexpr sdk::KernelRow kConvIntegerRows[] = {
    {"ConvInteger", 10, sdk::kLatest, dtype_set(Int8Types{}), sdk::make<ConvInteger>},
    {"QLinearConv", 10, sdk::kLatest, dtype_set(Int8Types{}), sdk::make<QLinearConv>},
};

}  // namespace

sdk::KernelTable conv_integer_kernels() { return sdk::table(kConvIntegerRows); }

}  // namespace gantry::cpu

// SPDX-License-Identifier: Apache-2.0
// Convolutions of quantized numbers: ConvInteger, QLinearConv. The operands, less their zero
// points, are convolved in f32 where every sum is exact in it, else in f64.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "dispatch.h"
#include "kernels/all_kernels.h"
#include "kernels/convolution.h"
#include "kernels/quantization.h"

namespace gantry::cpu {
namespace {

using ByteTypes = TypeList<uint8_t, int8_t>;

class IntegerConvolution : public ConvKernel {
 protected:
  explicit IntegerConvolution(const sdk::NodeView& node) : ConvKernel(node) {}

  /// The sums as C (float or double, exact) for `shape`, of which make_output() was called.
  template <class C>
  C* convolve(sdk::Call& call, const ConvShape& shape, int x_slot, int x_zero, int w_slot,
              int w_zero, const C* bias) const {
    const C* x = operand<C>(call, x_slot, x_zero, false);
    const C* w = operand<C>(call, w_slot, w_zero, true);
    auto* sums = call.scratch<C>(shape.batch * shape.groups * shape.features * shape.out_plane);
    Convolution<C>(call, shape, x, w, bias, sums).run();
    return sums;
  }

  /// Sums of products of two bytes stay below 2^24.
  static bool is_exact_in_f32(const ConvShape& shape) { return shape.depth() <= 256; }

 private:
  template <class C>
  const C* operand(sdk::Call& call, int slot, int zero_slot, bool is_weight) const {
    auto* values = read_as<ByteTypes, C>(call, slot);
    if (!call.has_input(zero_slot)) return values;
    if (call.input(zero_slot).dtype != call.input(slot).dtype)
      fail("input " + std::to_string(zero_slot) + " must have the element type of its data");
    const sdk::Shape shape = call.shape(slot);
    const int64_t zeros = call.shape(zero_slot).element_count();
    if (zeros != 1 && !(is_weight && zeros == shape[0])) {
      fail("input " + std::to_string(zero_slot) + " has shape " + to_string(call.shape(zero_slot)) +
           ", needs one number" + (is_weight ? " or one for each output channel" : ""));
    }
    const auto* zero = read_as<ByteTypes, C>(call, zero_slot);
    const int64_t count = shape.element_count();
    const int64_t stretch = std::max<int64_t>(count / zeros, 1);
    call.parallel_for(count, 32768, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) values[i] -= zero[i / stretch];
    });
    return values;
  }
};

class ConvInteger final : public IntegerConvolution {
 public:
  explicit ConvInteger(const sdk::NodeView& node) : IntegerConvolution(node) {}

  void run(sdk::Call& call) const override {
    ConvShape shape = resolve(call, 0, 1);
    gantry_tensor* output = make_output(call, GANTRY_INT32, call.shape(0), shape);
    if (!output) return;
    if (is_exact_in_f32(shape)) {
      store(call, convolve<float>(call, shape, 0, 2, 1, 3, nullptr), *output);
    } else {
      store(call, convolve<double>(call, shape, 0, 2, 1, 3, nullptr), *output);
    }
  }

 private:
  template <class C>
  static void store(sdk::Call& call, const C* sums, const gantry_tensor& output) {
    auto* y = static_cast<int32_t*>(output.data);
    call.parallel_for(sdk::Shape(output).element_count(), 32768, [&](int64_t begin, int64_t end) {
      // Beyond 32 bits the accumulation wraps around.
      for (int64_t i = begin; i < end; ++i)
        y[i] = static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(sums[i])));
    });
  }
};

class QLinearConv final : public IntegerConvolution {
 public:
  explicit QLinearConv(const sdk::NodeView& node) : IntegerConvolution(node) {}

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
    // The bias has 32 bits.
    if (is_exact_in_f32(shape) && !call.has_input(8)) {
      store(call, shape, convolve<float>(call, shape, 0, 2, 3, 5, nullptr), *output);
    } else {
      const double* bias =
          call.has_input(8) ? read_as<TypeList<int32_t>, double>(call, 8) : nullptr;
      store(call, shape, convolve<double>(call, shape, 0, 2, 3, 5, bias), *output);
    }
  }

 private:
  template <class C>
  static void store(sdk::Call& call, const ConvShape& shape, const C* sums,
                    const gantry_tensor& output) {
    const float x_scale = *call.data<float>(1);
    const auto* w_scale = call.data<float>(4);
    const float y_scale = *call.data<float>(6);
    const int64_t w_step = call.shape(4).element_count() == 1 ? 0 : 1;
    const int64_t features = shape.groups * shape.features;
    dispatch<ByteTypes>(output.dtype, [&](auto type) {
      using U = typename decltype(type)::type;
      const auto zero = static_cast<float>(*call.data<U>(7));
      auto* y = static_cast<U*>(output.data);
      const int64_t plane = shape.out_plane;
      const int64_t grain = std::max<int64_t>(1, 16384 / plane);
      call.parallel_for(shape.batch * features, grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const float factor = x_scale * w_scale[row % features * w_step] / y_scale;
          for (int64_t i = row * plane; i < (row + 1) * plane; ++i)
            y[i] = quantize<U>(static_cast<float>(sums[i]) * factor, zero, true);
        }
      });
    });
  }
};

constexpr sdk::KernelRow kConvIntegerRows[] = {
    {"ConvInteger", 10, sdk::kLatest, dtype_set(ByteTypes{}), sdk::make<ConvInteger>},
    {"QLinearConv", 10, sdk::kLatest, dtype_set(ByteTypes{}), sdk::make<QLinearConv>},
};

}  // namespace

sdk::KernelTable conv_integer_kernels() { return sdk::table(kConvIntegerRows); }

}  // namespace gantry::cpu

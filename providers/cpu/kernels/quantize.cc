// SPDX-License-Identifier: Apache-2.0
// To quantized numbers and back: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. Quotients
// and products are formed in f32 (int32 inputs: f64) and rounded to 16-bit floats where the
// operator's precision is one.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "float6.h"
#include "kernels/all_kernels.h"
#include "kernels/quantization.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

/// What these operators quantize to; the products of quantized numbers know fewer types.
using AllQuantizedTypes = Concat<QuantizedTypes, Float6Types>;

/// Attributes and the check of the inputs that both directions share.
class Quantizer : public NodeKernel {
 protected:
  explicit Quantizer(const sdk::NodeView& node)
      : NodeKernel(node),
        axis_(node.get_int("axis", 1)),
        block_(node.get_int("block_size", 0)),
        dtype_(static_cast<uint32_t>(node.get_int("output_dtype", 0))) {
    if (block_ < 0) {
      node.fail(GANTRY_INVALID_MODEL,
                "attribute block_size is " + std::to_string(block_) + ", expected at least 0");
    }
  }

  [[nodiscard]] Granularity granularity(sdk::Call& call) const {
    if (call.has_input(2) && call.shape(2).element_count() != call.shape(1).element_count()) {
      fail("the zero point has shape " + to_string(call.shape(2)) + " and the scale " +
           to_string(call.shape(1)) + "; they must be equal");
    }
    return {call.shape(0), call.shape(1), axis_, block_, label()};
  }
  /// Zeros where there is no zero point.
  template <class Types, class C>
  static const C* zero_points(sdk::Call& call) {
    if (call.has_input(2)) return read_as<Types, C>(call, 2);
    const int64_t count = call.shape(1).element_count();
    auto* zeros = call.scratch<C>(count);
    std::fill_n(zeros, count, C{0});
    return zeros;
  }

  int64_t axis_;
  int64_t block_;
  uint32_t dtype_;  ///< of the output; GANTRY_UNDEFINED: follows from the inputs
};

class QuantizeLinear final : public Quantizer {
 public:
  explicit QuantizeLinear(const sdk::NodeView& node)
      : Quantizer(node),
        saturate_(node.get_int("saturate", 1) != 0),
        precision_(static_cast<uint32_t>(node.get_int("precision", 0))) {}

  void run(sdk::Call& call) const override {
    const uint32_t own = call.has_input(2) ? call.input(2).dtype : dtype_;
    if (dtype_ != GANTRY_UNDEFINED && own != dtype_)
      fail("attribute output_dtype differs from the element type of the zero point");
    const uint32_t dtype = own == GANTRY_UNDEFINED ? uint32_t{GANTRY_UINT8} : own;
    const Granularity parts = granularity(call);
    UnitWriter output(call, 0, dtype, call.shape(0));
    dispatch<TypeList<float, Float16, BFloat16, int32_t>>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      using C = std::conditional_t<std::is_same_v<T, int32_t>, double, float>;
      const C* scales = read_as<ScaleTypes, C>(call, 1);
      const C* zeros = zero_points<AllQuantizedTypes, C>(call);
      dispatch<AllQuantizedTypes>(dtype, [&](auto out_type) {
        using U = typename decltype(out_type)::type;
        convert(call, parts, call.data<T>(0), scales, zeros, output.as<U>());
      });
    });
    output.finish();
  }

 private:
  /// The type to which quotients are rounded: what the attribute says, else what both inputs are.
  [[nodiscard]] uint32_t precision(sdk::Call& call) const {
    if (precision_ != GANTRY_UNDEFINED) return precision_;
    return call.input(0).dtype == call.input(1).dtype ? call.input(1).dtype
                                                      : uint32_t{GANTRY_FLOAT};
  }

  template <class T, class C, class U>
  void convert(sdk::Call& call, const Granularity& parts, const T* x, const C* scales,
               const C* zeros, U* y) const {
    switch (precision(call)) {
      case GANTRY_FLOAT16:
        return convert_runs(call, parts, x, scales, zeros, y, [](C quotient) {
          return static_cast<C>(static_cast<float>(Float16(static_cast<float>(quotient))));
        });
      case GANTRY_BFLOAT16:
        return convert_runs(call, parts, x, scales, zeros, y, [](C quotient) {
          return static_cast<C>(static_cast<float>(BFloat16(static_cast<float>(quotient))));
        });
      default:
        return convert_runs(call, parts, x, scales, zeros, y, [](C quotient) { return quotient; });
    }
  }

  template <class T, class C, class U, class Round>
  void convert_runs(sdk::Call& call, const Granularity& parts, const T* x, const C* scales,
                    const C* zeros, U* y, Round round) const {
    const int64_t step = parts.step();
    call.parallel_for(parts.runs(), parts.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const Granularity::Run run = parts.run(r);
        const C* scale = scales + run.scale;
        const C* zero = zeros + run.scale;
        const T* source = x + run.begin;
        U* target = y + run.begin;
        const auto one = [&](int64_t i, int64_t at) {
          const C value = static_cast<C>(static_cast<Compute<T>>(source[i]));
          target[i] = quantize<U>(round(value / scale[at]), zero[at], saturate_);
        };
        if (step == 0) {
          for (int64_t i = 0; i < run.count; ++i) one(i, 0);
        } else {
          for (int64_t i = 0; i < run.count; ++i) one(i, i);
        }
      }
    });
  }

  bool saturate_;
  uint32_t precision_;
};

class DequantizeLinear final : public Quantizer {
 public:
  explicit DequantizeLinear(const sdk::NodeView& node) : Quantizer(node) {}

  void run(sdk::Call& call) const override {
    using Sources = Concat<AllQuantizedTypes, TypeList<int32_t>>;
    if (call.has_input(2) && call.input(2).dtype != call.input(0).dtype)
      fail("the zero point must have the element type of the data");
    const uint32_t dtype = dtype_ == GANTRY_UNDEFINED ? call.input(1).dtype : dtype_;
    const Granularity parts = granularity(call);
    gantry_tensor& output = call.output(0, dtype, call.shape(0));
    const float* scales = read_as<ScaleTypes, float>(call, 1);
    const float* zeros = zero_points<Sources, float>(call);
    const std::byte* units = read_units(call, 0);
    dispatch<Sources>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      dispatch<TypeList<float, Float16, BFloat16>>(dtype, [&](auto out_type) {
        using U = typename decltype(out_type)::type;
        convert(call, parts, reinterpret_cast<const T*>(units), scales, zeros,
                static_cast<U*>(output.data));
      });
    });
  }

 private:
  template <class T, class U>
  static void convert(sdk::Call& call, const Granularity& parts, const T* x, const float* scales,
                      const float* zeros, U* y) {
    const int64_t step = parts.step();
    call.parallel_for(parts.runs(), parts.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const Granularity::Run run = parts.run(r);
        const float* scale = scales + run.scale;
        const float* zero = zeros + run.scale;
        const T* source = x + run.begin;
        U* target = y + run.begin;
        const auto one = [&](int64_t i, int64_t at) {
          const auto value = static_cast<float>(static_cast<Compute<T>>(source[i]));
          target[i] = static_cast<U>((value - zero[at]) * scale[at]);
        };
        if (step == 0) {
          for (int64_t i = 0; i < run.count; ++i) one(i, 0);
        } else {
          for (int64_t i = 0; i < run.count; ++i) one(i, i);
        }
      }
    });
  }
};

/// To u8 with the scale and zero point that the range of the data, widened to hold 0, asks for.
class DynamicQuantizeLinear final : public NodeKernel {
 public:
  explicit DynamicQuantizeLinear(const sdk::NodeView& node) : NodeKernel(node) {}

  void run(sdk::Call& call) const override {
    const int64_t count = call.shape(0).element_count();
    const auto* x = call.data<float>(0);
    float least = 0;
    float greatest = 0;
    range(call, x, count, least, greatest);
    // A tensor of zeros has any scale.
    const float scale = greatest > least ? (greatest - least) / 255.0F : 1.0F;
    const auto zero = quantize<uint8_t>(-least / scale, 0.0F, true);
    auto* y = static_cast<uint8_t*>(call.output(0, GANTRY_UINT8, call.shape(0)).data);
    if (call.wants(1)) *static_cast<float*>(call.output(1, GANTRY_FLOAT, {}).data) = scale;
    if (call.wants(2)) *static_cast<uint8_t*>(call.output(2, GANTRY_UINT8, {}).data) = zero;
    call.parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        y[i] = quantize<uint8_t>(x[i] / scale, static_cast<float>(zero), true);
    });
  }

 private:
  static constexpr int64_t kGrain = 16384;

  static void range(sdk::Call& call, const float* x, int64_t count, float& least, float& greatest) {
    const int64_t parts = std::clamp<int64_t>(count / kGrain, 1, call.thread_count());
    auto* bounds = call.scratch<float>(2 * parts);
    call.parallel_for(parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part) {
        float low = 0;
        float high = 0;
        for (int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
          low = x[i] < low ? x[i] : low;
          high = x[i] > high ? x[i] : high;
        }
        bounds[2 * part] = low;
        bounds[2 * part + 1] = high;
      }
    });
    for (int64_t part = 0; part < parts; ++part) {
      least = std::min(least, bounds[2 * part]);
      greatest = std::max(greatest, bounds[2 * part + 1]);
    }
  }
};

constexpr sdk::DTypeSet kToQuantize =
    sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16, GANTRY_INT32);
constexpr sdk::DTypeSet kQuantized = dtype_set(AllQuantizedTypes{}) | sdk::dtypes(GANTRY_INT32);

constexpr sdk::KernelRow kQuantizeRows[] = {
    {"QuantizeLinear", 10, sdk::kLatest, kToQuantize, sdk::make<QuantizeLinear>},
    {"DequantizeLinear", 10, sdk::kLatest, kQuantized, sdk::make<DequantizeLinear>},
    {"DynamicQuantizeLinear", 11, sdk::kLatest, sdk::dtypes(GANTRY_FLOAT),
     sdk::make<DynamicQuantizeLinear>},
};

}  // namespace

sdk::KernelTable quantize_kernels() { return sdk::table(kQuantizeRows); }

}  // namespace gantry::cpu

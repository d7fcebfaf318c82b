// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear. The quotient x / scale is computed in f32 (f64 for int32 inputs) and rounded to a
// 16-bit float if that is the operator's precision, then converted to the quantized type. The two
// steps exchange blocks of quotients, so that the number of loops grows with the types and not with
// pairs of types. From f32 to int8 and int16 there is one fused loop.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "elementwise/element_loops.h"
#include "families.h"
#include "quantization/quantize_math.h"
#include "quantization/quantizer.h"
#include "simd/vector_math.h"

namespace gantry::cpu {
namespace {

/// Quotients of a block.
constexpr int64_t kQuantizedBlock = 512;

/// Rounds an array of quotients to a 16-bit float type.
template <class Half, class C>
void round_to(C* x, int64_t count) {
  Half halves[kQuantizedBlock];
  if constexpr (std::is_same_v<C, float>) {
    narrow<Half>(x, halves, count);
    widen<Half>(halves, x, count);
  } else {
    for (int64_t i = 0; i < count; ++i) x[i] = static_cast<float>(Half(static_cast<float>(x[i])));
  }
}

/// y[i] = x[i] / scale[i * step]
template <class T, class C>
void divide(const T* x, const C* scale, int64_t step, C* y, int64_t count) {
  if constexpr (std::is_same_v<T, float>) {
    simd::div(x, 1, scale, step, y, count);
  } else if constexpr (std::is_same_v<C, float>) {
    widen<T>(x, y, count);
    simd::div(y, 1, scale, step, y, count);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<C>(x[i]) / scale[i * step];
  }
}

/// Converts a block of quotients to the output.
template <class C>
using QuantizedStore = void (*)(const C* quotients, const C* zero, int64_t step, std::byte* y,
                                int64_t count, bool saturates);
template <class U, class C>
void store(const C* quotients, const C* zero, int64_t step, std::byte* y, int64_t count,
           bool saturates) {
  auto* target = reinterpret_cast<U*>(y);
  if constexpr (kIsVectorQuantized<U> && std::is_same_v<C, float>) {
    simd::quantize(quotients, nullptr, zero, step != 0 ? 1 : count, target, count);
  } else {
    for (int64_t i = 0; i < count; ++i)
      target[i] = quantize<U>(quotients[i], zero[i * step], saturates);
  }
}

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
      convert(call, parts, call.data<T>(0), scales, zeros, dtype, output.data());
    });
    output.finish();
  }

 private:
  /// The type to which quotients are rounded: attribute `precision`, else the type of both inputs.
  [[nodiscard]] uint32_t precision(sdk::Call& call) const {
    if (precision_ != GANTRY_UNDEFINED) return precision_;
    return call.input(0).dtype == call.input(1).dtype ? call.input(1).dtype
                                                      : uint32_t{GANTRY_FLOAT};
  }

  template <class T, class C>
  void convert(sdk::Call& call, const Granularity& parts, const T* x, const C* scales,
               const C* zeros, uint32_t dtype, std::byte* y) const {
    const uint32_t rounded_to = precision(call);
    const bool is_plain = rounded_to != GANTRY_FLOAT16 && rounded_to != GANTRY_BFLOAT16;
    dispatch<AllQuantizedTypes>(dtype, [&](auto out_type) {
      using U = typename decltype(out_type)::type;
      static_assert(sizeof(U) == 1 || std::is_integral_v<U>, "units of less than a byte take one");
      if constexpr (kIsVectorQuantized<U> && std::is_same_v<T, float>) {
        if (is_plain)
          return convert_at_once(call, parts, x, scales, zeros, reinterpret_cast<U*>(y));
      }
      convert_blocks(call, parts, x, scales, zeros, rounded_to, y, sizeof(U), store<U, C>);
    });
  }

  template <class U>
  static void convert_at_once(sdk::Call& call, const Granularity& parts, const float* x,
                              const float* scales, const float* zeros, U* y) {
    call.parallel_for(parts.runs(), parts.grain(), [&](int64_t begin, int64_t end) {
      parts.for_each_span(begin, end, [&](const Granularity::Span& stretch) {
        const Granularity::Run& run = stretch.whole;
        simd::quantize(x + run.begin, scales + run.scale, zeros + run.scale, stretch.share,
                       y + run.begin, run.count);
      });
    });
  }

  template <class T, class C>
  void convert_blocks(sdk::Call& call, const Granularity& parts, const T* x, const C* scales,
                      const C* zeros, uint32_t rounded_to, std::byte* y, int64_t unit,
                      QuantizedStore<C> store) const {
    const int64_t step = parts.step();
    call.parallel_for(parts.runs(), parts.grain(), [&](int64_t begin, int64_t end) {
      C block[kQuantizedBlock];
      parts.for_each(begin, end, [&](const Granularity::Run& run) {
        for (int64_t i = 0; i < run.count; i += kQuantizedBlock) {
          const int64_t count = std::min(kQuantizedBlock, run.count - i);
          const int64_t at = run.begin + i;
          const int64_t scale = run.scale + i * step;
          divide(x + at, scales + scale, step, block, count);
          if (rounded_to == GANTRY_FLOAT16) round_to<Float16>(block, count);
          if (rounded_to == GANTRY_BFLOAT16) round_to<BFloat16>(block, count);
          store(block, zeros + scale, step, y + at * unit, count, saturate_);
        }
      });
    });
  }

  bool saturate_;
  uint32_t precision_;
};

constexpr sdk::DTypeSet kToQuantize =
    sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16, GANTRY_INT32);

constexpr sdk::KernelRow kQuantizeRows[] = {
    {"QuantizeLinear", 10, sdk::kLatest, kToQuantize, sdk::make<QuantizeLinear>},
};

}  // namespace

sdk::KernelTable quantize_kernels() { return sdk::table(kQuantizeRows); }

}  // namespace gantry::cpu

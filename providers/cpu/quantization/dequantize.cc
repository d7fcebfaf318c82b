// SPDX-License-Identifier: Apache-2.0
// DequantizeLinear: (x - zero_point) * scale in f32, rounded to 16-bit floats block by block.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "elementwise/element_loops.h"
#include "families.h"
#include "quantization/quantize_math.h"
#include "quantization/quantizer.h"

namespace gantry::cpu {
namespace {

/// Elements computed in f32 before they are rounded to a 16-bit output.
constexpr int64_t kDequantizedBlock = 512;

template <class T>
inline constexpr bool kIsVectorDequantized = kIsVectorQuantized<T> || std::is_same_v<T, int32_t>;

template <class T>
void to_floats(const T* x, const float* scale, const float* zero, int64_t step, float* y,
               int64_t count) {
  if constexpr (kIsVectorDequantized<T>) {
    simd::dequantize(x, scale, zero, step != 0 ? 1 : count, y, count);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>(static_cast<Compute<T>>(x[i]));
      y[i] = (value - zero[i * step]) * scale[i * step];
    }
  }
}

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
      const auto* x = reinterpret_cast<const T*>(units);
      switch (dtype) {
        case GANTRY_FLOAT:
          return convert(call, parts, x, scales, zeros, static_cast<float*>(output.data));
        case GANTRY_FLOAT16:
          return convert(call, parts, x, scales, zeros, static_cast<Float16*>(output.data));
        case GANTRY_BFLOAT16:
          return convert(call, parts, x, scales, zeros, static_cast<BFloat16*>(output.data));
        default:
          fail_dtype(dtype);
      }
    });
  }

 private:
  template <class T, class U>
  static void convert(sdk::Call& call, const Granularity& parts, const T* x, const float* scales,
                      const float* zeros, U* y) {
    if constexpr (kIsVectorDequantized<T> && std::is_same_v<U, float>)
      return convert_at_once(call, parts, x, scales, zeros, y);
    const int64_t step = parts.step();
    call.parallel_for(parts.runs(), parts.grain(), [&](int64_t begin, int64_t end) {
      parts.for_each(begin, end, [&](const Granularity::Run& run) {
        const float* scale = scales + run.scale;
        const float* zero = zeros + run.scale;
        if constexpr (std::is_same_v<U, float>) {
          to_floats(x + run.begin, scale, zero, step, y + run.begin, run.count);
        } else {
          float block[kDequantizedBlock];
          for (int64_t i = 0; i < run.count; i += kDequantizedBlock) {
            const int64_t count = std::min(kDequantizedBlock, run.count - i);
            to_floats(x + run.begin + i, scale + i * step, zero + i * step, step, block, count);
            narrow<U>(block, y + run.begin + i, count);
          }
        }
      });
    });
  }

  template <class T>
  static void convert_at_once(sdk::Call& call, const Granularity& parts, const T* x,
                              const float* scales, const float* zeros, float* y) {
    call.parallel_for(parts.runs(), parts.grain(), [&](int64_t begin, int64_t end) {
      parts.for_each_span(begin, end, [&](const Granularity::Span& stretch) {
        const Granularity::Run& run = stretch.whole;
        simd::dequantize(x + run.begin, scales + run.scale, zeros + run.scale, stretch.share,
                         y + run.begin, run.count);
      });
    });
  }
};

constexpr sdk::DTypeSet kQuantized = dtype_set(AllQuantizedTypes{}) | sdk::dtypes(GANTRY_INT32);

constexpr sdk::KernelRow kDequantizeRows[] = {
    {"DequantizeLinear", 10, sdk::kLatest, kQuantized, sdk::make<DequantizeLinear>},
};

}  // namespace

sdk::KernelTable dequantize_kernels() { return sdk::table(kDequantizeRows); }

}  // namespace gantry::cpu

// SPDX-License-Identifier: Apache-2.0
// Conv by GEMM (convolution.h). Depthwise f32 convolution is a weighted sum of shifted rows. 16-bit
// floats are computed in f32.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "convert.h"
#include "dispatch.h"
#include "families.h"
#include "linear_algebra/blas.h"
#include "nn/convolution.h"
#include "nn/window.h"
#include "node_kernel.h"
#include "simd/row_math.h"

namespace gantry::cpu {
namespace {

/// Depthwise convolution over one or two spatial axes. Bands of rows are copied with their padding
/// and with columns grouped by their index modulo the stride, so that every tap reads contiguous
/// elements.
class Depthwise {
 public:
  Depthwise(sdk::Call& call, const ConvShape& shape, const float* x, const float* w,
            const float* bias, float* y)
      : call_(call),
        shape_(shape),
        x_(x),
        bias_(bias),
        y_(y),
        columns_(shape.window[shape.window.rank() - 1]) {
    rows_ = shape.window.rank() == 2 ? shape.window[0] : WindowAxis{1, 1, 1, 1, 1, 0, 0};
    const int64_t last_tap = (columns_.kernel - 1) * columns_.dilation / columns_.stride;
    phase_ = last_tap + columns_.output + simd::kTapSlack;
    pitch_ = phase_ * columns_.stride;
    band_ = std::clamp<int64_t>((kBandElements / pitch_ - rows_.span()) / rows_.stride + 1, 1,
                                rows_.output);
    taps_ = rows_.kernel * columns_.kernel;
    offsets_ = call.scratch<int64_t>(taps_);
    for (int64_t t = 0; t < taps_; ++t) {
      const int64_t column = t % columns_.kernel * columns_.dilation;
      offsets_[t] = t / columns_.kernel * rows_.dilation * pitch_ +
                    column % columns_.stride * phase_ + column / columns_.stride;
    }
    // The weights may be unaligned.
    const int64_t weights = shape.groups * shape.features * taps_;
    w_ = call.scratch<float>(weights);
    widen<float>(w, w_, weights);
  }

  /// True if a band of the input fits; otherwise im2col with GEMM is used.
  static bool suits(const ConvShape& shape) {
    if (shape.channels != 1 || shape.window.rank() > 2) return false;
    const WindowAxis& columns = shape.window[shape.window.rank() - 1];
    const int64_t span = shape.window.rank() == 2 ? shape.window[0].span() : 1;
    return columns.stride <= 8 && columns.span() <= 4096 && span <= 512 && columns.output <= 16384;
  }

  void run() {
    const int64_t channels = shape_.batch * shape_.groups;
    const int64_t work = shape_.features * shape_.out_plane * taps_ + shape_.in_plane;
    const int64_t grain = std::max<int64_t>(1, kWorkGrain / work);
    const int64_t parts = std::clamp<int64_t>(channels / grain, 1, call_.thread_count());
    const int64_t band_elements =
        ((band_ - 1) * rows_.stride + rows_.span()) * pitch_ + simd::kTapSlack;
    auto* bands = call_.scratch<float>(parts * band_elements);
    call_.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      float* band = bands + begin * band_elements;
      // Lanes beyond the last window of a row are read; zeros avoid signalling NaNs and subnormals
      // there.
      std::fill_n(band, band_elements, 0.0F);
      for (int64_t i = channels * begin / parts; i < channels * end / parts; ++i)
        run_channel(i, band);
    });
  }

 private:
  static constexpr int64_t kBandElements = 32 * 1024;
  static constexpr int64_t kWorkGrain = 65536;

  void run_channel(int64_t channel, float* band) const {
    const float* x = x_ + channel * shape_.in_plane;
    const int64_t feature = channel % shape_.groups * shape_.features;
    float* y = y_ + channel * shape_.features * shape_.out_plane;
    for (int64_t row = 0; row < rows_.output; row += band_) {
      const int64_t end = std::min(row + band_, rows_.output);
      fill_band(x, row, end, band);
      for (int64_t f = 0; f < shape_.features; ++f) {
        const float bias = bias_ ? bias_[feature + f] : 0.0F;
        for (int64_t r = row; r < end; ++r) {
          simd::taps(band + (r - row) * rows_.stride * pitch_, offsets_, w_ + (feature + f) * taps_,
                     taps_, bias, y + f * shape_.out_plane + r * columns_.output, columns_.output);
        }
      }
    }
  }

  /// Copies the input rows that output rows [row, end) read.
  void fill_band(const float* x, int64_t row, int64_t end, float* band) const {
    const int64_t first = rows_.start(row);
    const int64_t count = (end - 1 - row) * rows_.stride + rows_.span();
    const int64_t used = phase_ - simd::kTapSlack;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t line = first + i;
      const bool is_inside = line >= 0 && line < rows_.input;
      for (int64_t phase = 0; phase < columns_.stride; ++phase) {
        float* target = band + i * pitch_ + phase * phase_;
        // Element q of this phase is the input q * stride + phase - pad.
        const int64_t shift = phase - columns_.pad_begin;
        const int64_t low = is_inside ? std::clamp<int64_t>(up(-shift), 0, used) : used;
        const int64_t high =
            is_inside ? std::clamp<int64_t>(up(columns_.input - shift), low, used) : used;
        std::fill_n(target, low, 0.0F);
        if (low < high) {
          copy_every(x + line * columns_.input + low * columns_.stride + shift, columns_.stride,
                     target + low, high - low);
        }
        std::fill_n(target + high, used - high, 0.0F);
      }
    }
  }
  [[nodiscard]] int64_t up(int64_t distance) const {
    return distance <= 0 ? 0 : (distance + columns_.stride - 1) / columns_.stride;
  }

  sdk::Call& call_;
  const ConvShape& shape_;
  const float* x_;
  float* w_;
  const float* bias_;
  float* y_;
  WindowAxis rows_;
  WindowAxis columns_;
  int64_t phase_;  ///< elements of a row of one phase
  int64_t pitch_;  ///< elements of a row of all phases
  int64_t band_;   ///< output rows of a band
  int64_t taps_;
  int64_t* offsets_;
};

class Conv final : public ConvKernel {
 public:
  explicit Conv(const sdk::NodeView& node) : ConvKernel(node) {}

  void run(sdk::Call& call) const override {
    if (call.input(1).dtype != call.input(0).dtype) fail("the inputs must have one element type");
    ConvShape shape = resolve(call, 0, 1);
    check_bias(call, 2, shape);
    const uint32_t dtype = call.input(0).dtype;
    gantry_tensor* output = make_output(call, dtype, call.shape(0), shape);
    if (!output) return;
    dispatch<FloatTypes>(
        dtype, [&](auto type) { compute<typename decltype(type)::type>(call, shape, *output); });
  }

 private:
  template <class T>
  static void compute(sdk::Call& call, const ConvShape& shape, gantry_tensor& output) {
    using C = Compute<T>;
    const C* x = widened<T>(call, call.input(0));
    const C* w = widened<T>(call, call.input(1));
    const C* bias = call.has_input(2) ? widened<T>(call, call.input(2)) : nullptr;
    C* y = wide_output<T>(call, output);
    if constexpr (std::is_same_v<C, float>) {
      if (Depthwise::suits(shape)) {
        Depthwise(call, shape, x, w, bias, y).run();
        return narrow<T>(call, y, output);
      }
    }
    Convolution<C>(call, shape, x, w, bias, y).run();
    narrow<T>(call, y, output);
  }
};

constexpr sdk::KernelRow kConvRows[] = {
    {"Conv", 1, sdk::kLatest, sdk::kFloats, sdk::make<Conv>, {.unaligned_inputs = 2}},
};

}  // namespace

sdk::KernelTable conv_kernels() { return sdk::table(kConvRows); }

}  // namespace gantry::cpu

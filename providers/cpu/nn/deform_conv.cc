// SPDX-License-Identifier: Apache-2.0
// DeformConv (opset 19): convolution whose sampling positions are moved by offsets and weighted by
// a mask. The interpolated samples form an im2col matrix, which a GEMM multiplies with the weights.
// 16-bit floats are computed in f32.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "attributes.h"
#include "convert.h"
#include "dispatch.h"
#include "families.h"
#include "image/tap_math.h"
#include "linear_algebra/blas.h"
#include "nn/convolution.h"

namespace gantry::cpu {
namespace {

constexpr int kMaxDeformAxes = 6;
constexpr int kMaxCorners = 1 << kMaxDeformAxes;

/// Windows of a block. Their sampling positions and weights are computed once and used for every
/// channel.
constexpr int kDeformBlock = 64;
constexpr int32_t kOutside = -1;

/// The input elements that surround one tap of up to kDeformBlock windows, and their interpolation
/// weights. Elements outside the input are left out. Requires channels of less than 2^31 elements.
template <class C>
struct Neighbours {
  int count = 0;  // of windows
  int corners = 0;
  int32_t offset[kMaxCorners][kDeformBlock];
  C weight[kMaxCorners][kDeformBlock];
  const C* factor = nullptr;  // [windows]: mask of the tap; null: 1

  void begin(int windows) {
    count = windows;
    corners = 1;
    std::fill_n(offset[0], count, 0);
    std::fill_n(weight[0], count, C{1});
  }

  /// Adds the next axis, of `extent` elements, on which the tap of window j is at coordinate at[j].
  void add_axis(const C* at, int32_t extent) {
    for (int j = 0; j < count; ++j) {
      // Also false for NaN.
      const bool is_near = at[j] > C{-1} && at[j] < static_cast<C>(extent);
      const C floor = is_near ? std::floor(at[j]) : C{0};
      const C t = is_near ? at[j] - floor : C{0};
      const auto low = static_cast<int32_t>(floor);
      const bool has_low = is_near && low >= 0;
      const bool has_high = is_near && low < extent - 1;
      for (int k = 0; k < corners; ++k) {
        const int32_t before = offset[k][j];
        const int32_t first = before * extent + low;
        offset[k][j] = has_low && before != kOutside ? first : kOutside;
        offset[corners + k][j] = has_high && before != kOutside ? first + 1 : kOutside;
        weight[corners + k][j] = weight[k][j] * t;
        weight[k][j] *= C{1} - t;
      }
    }
    corners *= 2;
  }

  /// row[j] = the interpolated value of window j in one channel.
  void read(const C* channel, C* row) const {
    if constexpr (std::is_same_v<C, float>) {
      simd::sum_taps(channel, {offset[0], weight[0], kDeformBlock, corners}, row, count);
    } else {
      for (int j = 0; j < count; ++j) {
        row[j] = C{0};
        for (int k = 0; k < corners; ++k) {
          if (offset[k][j] != kOutside) row[j] += weight[k][j] * channel[offset[k][j]];
        }
      }
    }
    for (int j = 0; factor && j < count; ++j) row[j] *= factor[j];
  }
};

class DeformConv final : public ConvKernel {
 public:
  explicit DeformConv(const sdk::NodeView& node)
      : ConvKernel(node), offset_groups_(read_integer(node, "offset_group", 1, 1)) {}

  void run(sdk::Call& call) const override {
    const uint32_t dtype = call.input(0).dtype;
    for (int slot = 1; slot < call.input_count(); ++slot) {
      if (call.has_input(slot) && call.input(slot).dtype != dtype)
        fail("the inputs must have one element type");
    }
    ConvShape shape = resolve(call, 0, 1);
    check_bias(call, 3, shape);
    check_offsets(call, shape);
    gantry_tensor* output = make_output(call, dtype, call.shape(0), shape);
    if (!output) return;
    dispatch<FloatTypes>(
        dtype, [&](auto type) { compute<typename decltype(type)::type>(call, shape, *output); });
  }

 private:
  void check_offsets(sdk::Call& call, const ConvShape& shape) const {
    const int rank = shape.window.rank();
    if (rank > kMaxDeformAxes) {
      fail(std::to_string(rank) + " spatial axes are above the supported " +
               std::to_string(kMaxDeformAxes),
           GANTRY_UNSUPPORTED);
    }
    if (shape.in_plane > std::numeric_limits<int32_t>::max()) {
      fail("a channel of " + std::to_string(shape.in_plane) + " elements is above the supported " +
               std::to_string(std::numeric_limits<int32_t>::max()),
           GANTRY_UNSUPPORTED);
    }
    if (shape.groups * shape.channels % offset_groups_ != 0) {
      fail(std::to_string(shape.groups * shape.channels) + " channels cannot be divided into " +
           std::to_string(offset_groups_) + " groups of offsets");
    }
    const int64_t taps = offset_groups_ * shape.window.kernel_count();
    check_plane(call, shape, 2, taps * rank);
    if (call.has_input(4)) check_plane(call, shape, 4, taps);
  }
  void check_plane(sdk::Call& call, const ConvShape& shape, int slot, int64_t channels) const {
    const sdk::Shape own = call.shape(slot);
    Dims expected;
    expected.push(shape.batch);
    expected.push(channels);
    for (int i = 0; i < shape.window.rank(); ++i) expected.push(shape.window[i].output);
    if (own != expected.shape()) {
      fail("input " + std::to_string(slot) + " has shape " + to_string(own) + ", needs " +
           to_string(expected.shape()));
    }
  }

  template <class T>
  void compute(sdk::Call& call, const ConvShape& shape, gantry_tensor& output) const {
    using C = Compute<T>;
    const C* x = widened<T>(call, call.input(0));
    const C* w = widened<T>(call, call.input(1));
    const C* offsets = widened<T>(call, call.input(2));
    const C* bias = call.has_input(3) ? widened<T>(call, call.input(3)) : nullptr;
    const C* mask = call.has_input(4) ? widened<T>(call, call.input(4)) : nullptr;
    C* y = wide_output<T>(call, output);
    const int64_t depth = shape.depth();
    const int64_t plane = shape.out_plane;
    const int64_t features = shape.groups * shape.features;
    const int64_t taps = offset_groups_ * shape.window.kernel_count();
    auto* columns = call.scratch<C>(shape.groups * depth * plane);
    for (int64_t n = 0; n < shape.batch; ++n) {
      gather(call, shape, x + n * shape.groups * shape.channels * shape.in_plane,
             offsets + n * taps * shape.window.rank() * plane,
             mask ? mask + n * taps * plane : nullptr, columns);
      C* target = y + n * features * plane;
      for (int64_t i = 0; bias && i < features; ++i)
        std::fill_n(target + i * plane, plane, bias[i]);
      for (int64_t g = 0; g < shape.groups; ++g) {
        GemmArgs<C> args =
            dense_gemm<C>(shape.features, plane, depth, w + g * shape.features * depth,
                          columns + g * depth * plane, target + g * shape.features * plane);
        args.beta = bias ? C{1} : C{0};
        gemm(call, args);
      }
    }
    narrow<T>(call, y, output);
  }

  /// Writes the im2col matrix: row (channel, tap) holds the interpolated value of the tap in each
  /// window.
  template <class C>
  void gather(sdk::Call& call, const ConvShape& shape, const C* x, const C* offsets, const C* mask,
              C* columns) const {
    const Window& window = shape.window;
    const int rank = window.rank();
    const int64_t taps = window.kernel_count();
    const int64_t plane = shape.out_plane;
    const int64_t channels = shape.groups * shape.channels / offset_groups_;
    int64_t kernels[kMaxWindowAxes];
    int64_t outputs[kMaxWindowAxes];
    for (int i = 0; i < rank; ++i) {
      kernels[i] = window[i].kernel;
      outputs[i] = window[i].output;
    }
    const int64_t blocks = (plane + kDeformBlock - 1) / kDeformBlock;
    const int64_t grain =
        std::max<int64_t>(1, 4096 / kDeformBlock / std::max<int64_t>(channels, 1));
    call.parallel_for(offset_groups_ * taps * blocks, grain, [&](int64_t begin, int64_t end) {
      Neighbours<C> near;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / blocks;  // of a group's tap
        const int64_t first = i % blocks * kDeformBlock;
        near.begin(static_cast<int>(std::min<int64_t>(kDeformBlock, plane - first)));
        const Odometer tap(kernels, rank, row % taps);
        for (int axis = 0; axis < rank; ++axis) {
          const C* moved = offsets + (row * rank + axis) * plane + first;
          const int64_t reach = tap[axis] * window[axis].dilation;
          Odometer position(outputs, rank, first);
          C at[kDeformBlock];
          for (int j = 0; j < near.count; ++j, position.next())
            at[j] = static_cast<C>(window[axis].start(position[axis]) + reach) + moved[j];
          near.add_axis(at, static_cast<int32_t>(window[axis].input));
        }
        near.factor = mask ? mask + row * plane + first : nullptr;
        for (int64_t c = 0; c < channels; ++c) {
          const int64_t channel = row / taps * channels + c;
          near.read(x + channel * shape.in_plane,
                    columns + (channel * taps + row % taps) * plane + first);
        }
      }
    });
  }

  int64_t offset_groups_;
};

constexpr sdk::KernelRow kDeformConvRows[] = {
    {"DeformConv", 19, sdk::kLatest, sdk::kFloats, sdk::make<DeformConv>},
};

}  // namespace

sdk::KernelTable deform_conv_kernels() { return sdk::table(kDeformConvRows); }

}  // namespace gantry::cpu

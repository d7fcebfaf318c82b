// SPDX-License-Identifier: Apache-2.0
// ConvTranspose by GEMM and col2im, a block of output channels at a time: the GEMM computes the
// contribution of every input pixel to each kernel position, and the contributions are added up in
// the output. 16-bit floats are computed in f32.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "convert.h"
#include "dispatch.h"
#include "families.h"
#include "linear_algebra/blas.h"
#include "nn/window.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

/// Elements of contributions of a block: one megabyte of f32.
constexpr int64_t kTileElements = 256 * 1024;

/// In `window`, "input" is the output of this operator and "output" its input.
struct Deconvolution {
  int64_t batch;
  int64_t groups;
  int64_t channels;  ///< input channels of one group
  int64_t features;  ///< output channels of one group
  int64_t in_plane;
  int64_t out_plane;
  Window window;
};

class ConvTranspose final : public NodeKernel {
 public:
  explicit ConvTranspose(const sdk::NodeView& node)
      : NodeKernel(node),
        attributes_(node),
        groups_(node.get_int("group", 1)),
        output_padding_(node.get_ints("output_padding")),
        output_shape_(node.get_ints("output_shape")),
        swaps_halves_(node.since_version() < 11) {
    if (groups_ < 1) {
      node.fail(GANTRY_INVALID_MODEL,
                "attribute group is " + std::to_string(groups_) + ", expected at least 1");
    }
    for (const auto* values : {&output_padding_, &output_shape_}) {
      for (const int64_t value : *values) {
        if (value >= 0 && value <= kMaxExtent) continue;
        node.fail(GANTRY_INVALID_MODEL, "attribute output_padding or output_shape holds " +
                                            std::to_string(value) +
                                            ", expected a number from 0 to 2^30");
      }
    }
  }

  void run(sdk::Call& call) const override {
    Deconvolution shape = resolve(call);
    Dims extents;
    extents.push(shape.batch);
    extents.push(shape.groups * shape.features);
    for (int i = 0; i < shape.window.rank(); ++i) extents.push(shape.window[i].input);
    const uint32_t dtype = call.input(0).dtype;
    const bool is_empty = count_of(extents.shape()) == 0;
    gantry_tensor& output = call.output(0, dtype, extents.shape());
    if (is_empty) return;
    const sdk::Shape x = call.shape(0);
    shape.in_plane = count_of({x.data + 2, x.rank - 2});
    shape.out_plane = count_of({extents.data() + 2, extents.rank() - 2});
    const int64_t rows = count_of({call.shape(1).data + 1, call.shape(1).rank - 1});
    check_gemm(rows, shape.in_plane, shape.channels, label());
    dispatch<FloatTypes>(
        dtype, [&](auto type) { compute<typename decltype(type)::type>(call, shape, output); });
  }

 private:
  /// Checks the inputs and computes the window; the caller sets the plane sizes.
  [[nodiscard]] Deconvolution resolve(sdk::Call& call) const {
    const sdk::Shape x = call.shape(0);
    const sdk::Shape w = call.shape(1);
    if (x.rank < 3 || x.rank != w.rank) {
      fail("input 0 has shape " + to_string(x) + " and the weights " + to_string(w) +
           "; they need the same rank, at least 3");
    }
    for (size_t i = 0; i < attributes_.kernel.size(); ++i) {
      if (attributes_.kernel.size() != static_cast<size_t>(w.rank - 2) ||
          attributes_.kernel[i] != w[static_cast<int>(i) + 2]) {
        fail("attribute kernel_shape does not match the weights of shape " + to_string(w));
      }
    }
    if (x[1] != w[0] || x[1] % groups_ != 0) {
      fail("input 0 has " + std::to_string(x[1]) + " channels, but weights of shape " +
           to_string(w) + " in " + std::to_string(groups_) + " groups need " +
           std::to_string(w[0]) + ", a multiple of the groups");
    }
    if (call.input(1).dtype != call.input(0).dtype) fail("the inputs must have one element type");
    int64_t channels = 0;
    if (__builtin_mul_overflow(w[1], groups_, &channels))
      fail("the weights have too many output channels");
    if (call.has_input(2) && (call.shape(2).rank != 1 || call.shape(2)[0] != channels)) {
      fail("the bias has shape " + to_string(call.shape(2)) + ", needs [" +
           std::to_string(channels) + "]");
    }
    Deconvolution shape = {};
    shape.batch = x[0];
    shape.groups = groups_;
    shape.channels = x[1] / groups_;
    shape.features = w[1];
    shape.window = Window::sized(attributes_, x, w.data + 2, label());
    for (int i = 0; i < shape.window.rank(); ++i) place(shape.window[i], i);
    return shape;
  }

  /// Exchanges the input and output of an axis and computes its pads and output extent.
  void place(WindowAxis& axis, int index) const {
    const auto i = static_cast<size_t>(index);
    const auto rank = attributes_.strides.empty() ? i + 1 : attributes_.strides.size();
    if ((!output_padding_.empty() && output_padding_.size() < rank) ||
        output_padding_.size() > 2 * kMaxWindowAxes) {
      fail("attribute output_padding has " + std::to_string(output_padding_.size()) +
           " numbers, expected one for each axis");
    }
    const int64_t extra = i < output_padding_.size() ? output_padding_[i] : 0;
    const int64_t inputs = axis.input;
    const int64_t full = inputs > 0 ? (inputs - 1) * axis.stride + extra + axis.span() : 0;
    const bool is_same =
        attributes_.auto_pad == AutoPad::kSameUpper || attributes_.auto_pad == AutoPad::kSameLower;
    axis.output = inputs;
    if (!output_shape_.empty() || is_same) {
      axis.input = output_shape_.empty() ? inputs * axis.stride : spatial_extent(index);
      const int64_t total = std::max<int64_t>(full - axis.input, 0);
      // An odd padding has one element more at the end for SAME_UPPER and at the start otherwise;
      // below version 11 the other way round.
      const bool larger_at_end = (attributes_.auto_pad == AutoPad::kSameUpper) != swaps_halves_;
      axis.pad_begin = larger_at_end ? total / 2 : total - total / 2;
      axis.pad_end = total - axis.pad_begin;
    } else {
      axis.input = full - axis.pad_begin - axis.pad_end;
    }
    if (axis.input < 0 || axis.input > kMaxExtent) {
      fail("axis " + std::to_string(index + 2) + " would have extent " +
           std::to_string(axis.input) + ", expected 0 to 2^30");
    }
  }
  /// `output_shape` lists the spatial axes; old models also list batch and channels.
  [[nodiscard]] int64_t spatial_extent(int index) const {
    const size_t rank =
        attributes_.kernel.empty() ? output_shape_.size() : attributes_.kernel.size();
    const size_t skipped = output_shape_.size() == rank + 2 ? 2 : 0;
    const size_t entry = static_cast<size_t>(index) + skipped;
    if (entry >= output_shape_.size()) {
      fail("attribute output_shape has " + std::to_string(output_shape_.size()) +
           " numbers, expected one for each axis");
    }
    return output_shape_[entry];
  }

  template <class T>
  static void compute(sdk::Call& call, const Deconvolution& shape, gantry_tensor& output) {
    using C = Compute<T>;
    const C* x = widened<T>(call, call.input(0));
    const C* w = widened<T>(call, call.input(1));
    const C* bias = call.has_input(2) ? widened<T>(call, call.input(2)) : nullptr;
    C* y = wide_output<T>(call, output);
    const int64_t taps = shape.window.kernel_count();
    const int64_t threads = call.thread_count();
    const int64_t planes = shape.batch * shape.groups;
    // As many features at once as fit, but enough blocks for all threads.
    const int64_t fit = std::clamp<int64_t>(
        kTileElements / std::max<int64_t>(taps * shape.in_plane, 1), 1, shape.features);
    const int64_t wanted = std::max((shape.features + fit - 1) / fit,
                                    std::min(shape.features, (threads + planes - 1) / planes));
    const int64_t block = (shape.features + wanted - 1) / wanted;
    const int64_t blocks = (shape.features + block - 1) / block;
    const int64_t units = planes * blocks;
    const int64_t work = shape.channels * block * taps * shape.in_plane;
    const int64_t parts = work * units < 2 * kGemmGrain ? 1 : std::min(threads, units);
    const int64_t tile = block * taps * shape.in_plane;
    C* tiles = call.scratch<C>(parts * tile);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      C* own = tiles + begin * tile;
      for (int64_t unit = units * begin / parts; unit < units * end / parts; ++unit) {
        const int64_t plane = unit / blocks;
        const int64_t first = unit % blocks * block;
        const int64_t last = std::min(first + block, shape.features);
        contribute(shape, x, w, plane, first, last, own);
        C* target = y + (plane * shape.features + first) * shape.out_plane;
        for (int64_t f = first; f < last; ++f, target += shape.out_plane) {
          const int64_t feature = plane % shape.groups * shape.features + f;
          std::fill_n(target, shape.out_plane, bias ? bias[feature] : C{0});
          add_taps(shape.window, own + (f - first) * taps * shape.in_plane, shape.in_plane, target);
        }
      }
    });
    narrow<T>(call, y, output);
  }

  /// tile[(feature, tap), pixel] = sum over channels of w[channel, feature, tap] x[channel, pixel]
  template <class C>
  static void contribute(const Deconvolution& shape, const C* x, const C* w, int64_t plane,
                         int64_t first, int64_t last, C* tile) {
    const int64_t taps = shape.window.kernel_count();
    const int64_t row = shape.features * taps;
    const int64_t group = plane % shape.groups;
    GemmArgs<C> args = dense_gemm<C>((last - first) * taps, shape.in_plane, shape.channels,
                                     w + group * shape.channels * row + first * taps,
                                     x + plane * shape.channels * shape.in_plane, tile);
    args.transpose_a = true;
    args.lda = row;
    gemm_serial(args);
  }

  template <class C>
  static void add_taps(const Window& window, const C* tile, int64_t in_plane, C* y) {
    const int outer = window.rank() - 1;
    const WindowAxis& inner = window[outer];
    int64_t kernels[kMaxWindowAxes];
    int64_t inputs[kMaxWindowAxes];
    for (int i = 0; i <= outer; ++i) {
      kernels[i] = window[i].kernel;
      inputs[i] = window[i].output;
    }
    const int64_t lines = in_plane == 0 ? 0 : in_plane / inner.output;
    Odometer tap(kernels, outer + 1);
    for (int64_t t = 0; t < window.kernel_count(); ++t, tap.next(), tile += in_plane) {
      const int64_t low = inner.first_window(tap[outer]);
      const int64_t high = inner.end_window(tap[outer]);
      Odometer line(inputs, lines > 0 ? outer : 0);
      for (int64_t l = 0; l < lines; ++l, line.next()) {
        int64_t offset = 0;
        bool is_inside = true;
        for (int i = 0; i < outer; ++i) {
          const int64_t at = window[i].start(line[i]) + tap[i] * window[i].dilation;
          is_inside = is_inside && at >= 0 && at < window[i].input;
          offset = offset * window[i].input + at;
        }
        if (!is_inside) continue;
        const C* source = tile + l * inner.output;
        C* target = y + offset * inner.input + tap[outer] * inner.dilation - inner.pad_begin;
        if (inner.stride == 1) {
          for (int64_t i = low; i < high; ++i) target[i] += source[i];
        } else {
          for (int64_t i = low; i < high; ++i) target[i * inner.stride] += source[i];
        }
      }
    }
  }

  WindowAttributes attributes_;
  int64_t groups_;
  std::vector<int64_t> output_padding_;
  std::vector<int64_t> output_shape_;
  bool swaps_halves_;
};

constexpr sdk::KernelRow kConvTransposeRows[] = {
    {"ConvTranspose",
     1,
     sdk::kLatest,
     sdk::kFloats,
     sdk::make<ConvTranspose>,
     {.unaligned_inputs = 2}},
};

}  // namespace

sdk::KernelTable conv_transpose_kernels() { return sdk::table(kConvTransposeRows); }

}  // namespace gantry::cpu

// SPDX-License-Identifier: Apache-2.0
// Convolution by GEMM, shared by the convolution operators. A 1x1 convolution multiplies the input
// directly. Others gather a tile of windows into a matrix that stays in the cache (im2col) and
// multiply that. Tensors are NCHW with any number of spatial axes. Made per run, on the stack.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "linear_algebra/blas.h"
#include "nn/window.h"
#include "node_kernel.h"

namespace gantry::cpu {

/// Elements of a gathered tile: half a megabyte of f32, within the second-level cache.
inline constexpr int64_t kTileElements = 128 * 1024;
/// Least number of windows in a tile. With fewer, GEMM spends its time packing the weights.
inline constexpr int64_t kLeastTile = 48;

/// The extents of one convolution.
struct ConvShape {
  int64_t batch;
  int64_t groups;
  int64_t channels;   ///< input channels of one group
  int64_t features;   ///< output channels of one group
  int64_t in_plane;   ///< elements of an input channel
  int64_t out_plane;  ///< elements of an output channel
  Window window;

  /// Weights of one output channel: the inner extent of the GEMM.
  [[nodiscard]] int64_t depth() const { return channels * window.kernel_count(); }
  [[nodiscard]] bool is_pointwise() const {
    for (int i = 0; i < window.rank(); ++i) {
      const WindowAxis& axis = window[i];
      if (axis.kernel != 1 || axis.stride != 1 || axis.pad_begin != 0 || axis.pad_end != 0)
        return false;
    }
    return true;
  }
};

template <class T>
void copy_every(const T* source, int64_t stride, T* target, int64_t count) {
  if (stride == 1) {
    std::copy_n(source, count, target);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i] = source[i * stride];
  }
}

/// Writes rows [row, end_row) of the im2col matrix for the windows [p0, p1) of one group's input. A
/// row belongs to a pair (channel, kernel position) and holds its input element in each window, 0
/// in the padding.
template <class T>
void gather_windows(const ConvShape& shape, const T* x, int64_t row, int64_t end_row, int64_t p0,
                    int64_t p1, T* target) {
  const Window& window = shape.window;
  const int outer = window.rank() - 1;
  const WindowAxis& inner = window[outer];
  int64_t kernels[kMaxWindowAxes];
  int64_t outputs[kMaxWindowAxes];
  for (int i = 0; i <= outer; ++i) {
    kernels[i] = window[i].kernel;
    outputs[i] = window[i].output;
  }
  const int64_t taps = window.kernel_count();
  Odometer tap(kernels, outer + 1, row % taps);
  const Odometer first_line(outputs, outer, p0 / inner.output);
  for (; row < end_row; ++row, tap.next()) {
    const T* plane = x + row / taps * shape.in_plane;
    const int64_t shift = tap[outer] * inner.dilation - inner.pad_begin;
    const int64_t low = inner.first_window(tap[outer]);
    const int64_t high = inner.end_window(tap[outer]);
    Odometer line = first_line;
    int64_t ox = p0 % inner.output;
    for (int64_t left = p1 - p0; left > 0;) {
      const int64_t count = std::min(inner.output - ox, left);
      int64_t offset = 0;
      bool is_inside = true;
      for (int i = 0; i < outer; ++i) {
        const int64_t at = window[i].start(line[i]) + tap[i] * window[i].dilation;
        is_inside = is_inside && at >= 0 && at < window[i].input;
        offset = offset * window[i].input + at;
      }
      const int64_t begin = is_inside ? std::clamp(low - ox, int64_t{0}, count) : count;
      const int64_t end = is_inside ? std::clamp(high - ox, begin, count) : count;
      std::fill_n(target, begin, T{0});
      if (begin < end) {
        const T* source = plane + offset * inner.input + (ox + begin) * inner.stride + shift;
        copy_every(source, inner.stride, target + begin, end - begin);
      }
      std::fill_n(target + end, count - end, T{0});
      target += count;
      left -= count;
      ox = 0;
      line.next();
    }
  }
}

/// One convolution in type T. x: [N, C, ...], w: [M, C / group, ...], bias: [M] or null, y: [N, M,
/// ...].
template <class T>
class Convolution {
 public:
  Convolution(sdk::Call& call, const ConvShape& shape, const T* x, const T* w, const T* bias, T* y)
      : call_(call),
        shape_(shape),
        x_(x),
        w_(w),
        bias_(bias),
        y_(y),
        pointwise_(shape.is_pointwise()) {}

  void run() {
    const int64_t planes = shape_.batch * shape_.groups;
    const int64_t depth = std::max<int64_t>(shape_.depth(), 1);
    const int64_t work = planes * shape_.features * shape_.out_plane * depth;
    const int64_t threads =
        work < 2 * kGemmGrain ? 1 : std::min<int64_t>(call_.thread_count(), work / kGemmGrain);
    tile_ = pointwise_ ? shape_.out_plane : std::max(kLeastTile, kTileElements / depth);
    int64_t tiles = count_of_tiles();
    if (planes * tiles % threads != 0 && planes * tiles < 8 * threads) {
      const int64_t even = (tiles + threads - 1) / threads * threads;
      if (shape_.out_plane / even < kLeastTile && planes < threads) return run_by_rows(threads);
      tiles = std::min(even, shape_.out_plane);
    }
    tile_ = (shape_.out_plane + tiles - 1) / tiles;
    run_by_tiles(threads);
  }

 private:
  [[nodiscard]] int64_t count_of_tiles() const { return (shape_.out_plane + tile_ - 1) / tile_; }
  [[nodiscard]] int64_t gathered_elements() const {
    return pointwise_ ? 0 : shape_.depth() * std::min(tile_, shape_.out_plane);
  }

  /// Each thread gathers and multiplies its own tiles.
  void run_by_tiles(int64_t threads) {
    const int64_t tiles = count_of_tiles();
    const int64_t units = shape_.batch * shape_.groups * tiles;
    const int64_t parts = std::min(threads, units);
    T* gathered = pointwise_ ? nullptr : call_.template scratch<T>(parts * gathered_elements());
    call_.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      T* own = gathered + begin * gathered_elements();
      for (int64_t unit = units * begin / parts; unit < units * end / parts; ++unit) {
        const int64_t plane = unit / tiles;
        const int64_t p0 = unit % tiles * tile_;
        const int64_t p1 = std::min(p0 + tile_, shape_.out_plane);
        if (!pointwise_) gather_windows(shape_, input(plane), 0, shape_.depth(), p0, p1, own);
        gemm_biased(gemm_args(plane, p0, p1, own), plane, 0, shape_.features);
      }
    });
  }

  /// Small planes: all threads gather one plane, then each multiplies some of the features.
  void run_by_rows(int64_t threads) {
    T* gathered = pointwise_ ? nullptr : call_.template scratch<T>(gathered_elements());
    for (int64_t plane = 0; plane < shape_.batch * shape_.groups; ++plane) {
      for (int64_t p0 = 0; p0 < shape_.out_plane; p0 += tile_) {
        const int64_t p1 = std::min(p0 + tile_, shape_.out_plane);
        if (!pointwise_) {
          const int64_t grain = std::max<int64_t>(1, 16384 / (p1 - p0));
          call_.parallel_for(shape_.depth(), grain, [&](int64_t begin, int64_t end) {
            gather_windows(shape_, input(plane), begin, end, p0, p1, gathered + begin * (p1 - p0));
          });
        }
        const GemmArgs<T> whole = gemm_args(plane, p0, p1, gathered);
        call_.parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
          const int64_t first = shape_.features * begin / threads;
          const int64_t last = shape_.features * end / threads;
          if (first < last) gemm_biased(whole.rows(first, last), plane, first, last);
        });
      }
    }
  }

  [[nodiscard]] const T* input(int64_t plane) const {
    return x_ + plane * shape_.channels * shape_.in_plane;
  }

  /// The GEMM y[features, windows [p0, p1)] = weights x gathered.
  [[nodiscard]] GemmArgs<T> gemm_args(int64_t plane, int64_t p0, int64_t p1,
                                      const T* gathered) const {
    const int64_t group = plane % shape_.groups;
    const int64_t depth = shape_.depth();
    GemmArgs<T> args;
    args.m = shape_.features;
    args.n = p1 - p0;
    args.k = depth;
    args.a = w_ + group * shape_.features * depth;
    args.lda = std::max<int64_t>(depth, 1);
    args.b = pointwise_ ? input(plane) + p0 : gathered;
    args.ldb = pointwise_ ? shape_.in_plane : p1 - p0;
    args.c = y_ + plane * shape_.features * shape_.out_plane + p0;
    args.ldc = shape_.out_plane;
    return args;
  }

  void gemm_biased(GemmArgs<T> args, int64_t plane, int64_t first, int64_t last) const {
    if (bias_) {
      const T* bias = bias_ + plane % shape_.groups * shape_.features;
      for (int64_t i = first; i < last; ++i)
        std::fill_n(args.c + (i - first) * args.ldc, args.n, bias[i]);
      args.beta = T{1};
    }
    gemm_serial(args);
  }

  sdk::Call& call_;
  const ConvShape& shape_;
  const T* x_;
  const T* w_;
  const T* bias_;
  T* y_;
  bool pointwise_;
  int64_t tile_ = 0;
};

/// Base of the convolution kernels of all element types: attributes, shapes and their checks.
/// Failed checks throw INVALID_MODEL (attributes) or INVALID_ARGUMENT (shapes).
class ConvKernel : public NodeKernel {
 protected:
  explicit ConvKernel(const sdk::NodeView& node)
      : NodeKernel(node), attributes_(node), groups_(node.get_int("group", 1)) {
    if (groups_ < 1) {
      node.fail(GANTRY_INVALID_MODEL,
                "attribute group is " + std::to_string(groups_) + ", expected at least 1");
    }
  }

  /// Checks the shapes of the input and the weights. in_plane and out_plane are set by
  /// make_output().
  [[nodiscard]] ConvShape resolve(sdk::Call& call, int x_slot, int w_slot) const {
    const sdk::Shape x = call.shape(x_slot);
    const sdk::Shape w = call.shape(w_slot);
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
    if (w[0] % groups_ != 0 || x[1] % groups_ != 0 || x[1] / groups_ != w[1]) {
      fail("input 0 has " + std::to_string(x[1]) + " channels, but weights of shape " +
           to_string(w) + " in " + std::to_string(groups_) + " groups need " +
           std::to_string(w[1]) + " for each group");
    }
    ConvShape shape = {};
    shape.batch = x[0];
    shape.groups = groups_;
    shape.channels = w[1];
    shape.features = w[0] / groups_;
    shape.window = Window::sliding(attributes_, x, w.data + 2, label());
    return shape;
  }

  void check_bias(sdk::Call& call, int slot, const ConvShape& shape) const {
    if (!call.has_input(slot)) return;
    const int64_t features = shape.groups * shape.features;
    if (call.shape(slot).rank != 1 || call.shape(slot)[0] != features) {
      fail("the bias has shape " + to_string(call.shape(slot)) + ", needs [" +
           std::to_string(features) + "]");
    }
  }

  /// Allocates output 0 and sets in_plane and out_plane of `shape`. Returns null if the output is
  /// empty.
  gantry_tensor* make_output(sdk::Call& call, uint32_t dtype, sdk::Shape x,
                             ConvShape& shape) const {
    Dims extents;
    extents.push(shape.batch);
    extents.push(shape.groups * shape.features);
    for (int i = 0; i < shape.window.rank(); ++i) extents.push(shape.window[i].output);
    const bool is_empty = count_of(extents.shape()) == 0;
    gantry_tensor& output = call.output(0, dtype, extents.shape());
    if (is_empty) return nullptr;
    shape.in_plane = count_of({x.data + 2, x.rank - 2});
    shape.out_plane = shape.window.output_count();
    check_gemm(shape.features, std::max(shape.out_plane, shape.in_plane), shape.depth(), label());
    return &output;
  }

 private:
  WindowAttributes attributes_;
  int64_t groups_;
};

}  // namespace gantry::cpu

// SPDX-License-Identifier: Apache-2.0
// Conv. A window of one element is a matrix product on the input itself; others gather a tile of
// windows at a time into a matrix that stays in the cache (im2col) and multiply that; a depthwise
// f32 window is a weighted sum of shifted rows. 16-bit floats are computed in f32.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "dispatch.h"
#include "kernels/all_kernels.h"
#include "kernels/blas.h"
#include "kernels/row_math.h"
#include "kernels/window.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

/// Elements of a gathered tile: half a megabyte of f32, within the second-level cache.
constexpr int64_t kTileElements = 128 * 1024;
/// Fewest windows in a tile: below this the product spends its time on packing the weights.
constexpr int64_t kLeastTile = 48;

/// Everything that the loops need of the shapes of a run.
struct ConvShape {
  int64_t batch;
  int64_t groups;
  int64_t channels;  ///< input channels of one group
  int64_t features;  ///< output channels of one group
  int64_t in_plane;
  int64_t out_plane;
  Window window;

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
void copy_strided(const T* source, int64_t stride, T* target, int64_t count) {
  if (stride == 1) {
    std::copy_n(source, count, target);
  } else {
    for (int64_t i = 0; i < count; ++i) target[i] = source[i * stride];
  }
}

/// Rows [row, end_row) of the matrix whose row (channel, tap) holds the inputs that the tap of the
/// windows [p0, p1) sees.
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
        copy_strided(source, inner.stride, target + begin, end - begin);
      }
      std::fill_n(target + end, count - end, T{0});
      target += count;
      left -= count;
      ox = 0;
      line.next();
    }
  }
}

/// One convolution with operands in their compute type.
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
    const int64_t threads = work < 2 * kProductGrain
                                ? 1
                                : std::min<int64_t>(call_.thread_count(), work / kProductGrain);
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

  /// Each thread gathers and multiplies tiles of its own.
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
        multiply_biased(product(plane, p0, p1, own), plane, 0, shape_.features);
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
        const Product<T> whole = product(plane, p0, p1, gathered);
        call_.parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
          const int64_t first = shape_.features * begin / threads;
          const int64_t last = shape_.features * end / threads;
          if (first < last) multiply_biased(whole.rows(first, last), plane, first, last);
        });
      }
    }
  }

  [[nodiscard]] const T* input(int64_t plane) const {
    return x_ + plane * shape_.channels * shape_.in_plane;
  }

  /// features x windows [p0, p1) = weights x gathered
  [[nodiscard]] Product<T> product(int64_t plane, int64_t p0, int64_t p1, const T* gathered) const {
    const int64_t group = plane % shape_.groups;
    const int64_t depth = shape_.depth();
    Product<T> product;
    product.m = shape_.features;
    product.n = p1 - p0;
    product.k = depth;
    product.a = w_ + group * shape_.features * depth;
    product.lda = std::max<int64_t>(depth, 1);
    product.b = pointwise_ ? input(plane) + p0 : gathered;
    product.ldb = pointwise_ ? shape_.in_plane : p1 - p0;
    product.c = y_ + plane * shape_.features * shape_.out_plane + p0;
    product.ldc = shape_.out_plane;
    return product;
  }

  void multiply_biased(Product<T> product, int64_t plane, int64_t first, int64_t last) const {
    if (bias_) {
      const T* bias = bias_ + plane % shape_.groups * shape_.features;
      for (int64_t i = first; i < last; ++i)
        std::fill_n(product.c + (i - first) * product.ldc, product.n, bias[i]);
      product.beta = T{1};
    }
    multiply_serial(product);
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

/// Depthwise windows over one or two axes: each output channel sees one input channel. Bands of
/// rows are copied with their padding, columns sorted by their rest modulo the stride, so that
/// every tap reads a run of neighbours.
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
    // The weights may start at any byte.
    const int64_t weights = shape.groups * shape.features * taps_;
    w_ = call.scratch<float>(weights);
    widen<float>(w, w_, weights);
  }

  /// Elements of a band for the widest rows that are worth it; beyond, tiles of windows are
  /// gathered.
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
      // Lanes beyond a row's last window are read, and must not be signalling or slow numbers.
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

  /// The input rows that the windows of rows [row, end) see.
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
          copy_strided(x + line * columns_.input + low * columns_.stride + shift, columns_.stride,
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

class Conv final : public NodeKernel {
 public:
  explicit Conv(const sdk::NodeView& node)
      : NodeKernel(node), attributes_(node), groups_(node.get_int("group", 1)) {
    if (groups_ < 1)
      node.fail(GANTRY_INVALID_MODEL,
                "attribute group is " + std::to_string(groups_) + ", expected at least 1");
  }

  void run(sdk::Call& call) const override {
    ConvShape shape = resolve(call);
    Dims extents;
    extents.push(shape.batch);
    extents.push(shape.groups * shape.features);
    for (int i = 0; i < shape.window.rank(); ++i) extents.push(shape.window[i].output);
    const bool is_empty = count_of(extents.shape()) == 0;
    const uint32_t dtype = call.input(0).dtype;
    gantry_tensor& output = call.output(0, dtype, extents.shape());
    if (is_empty) return;
    const sdk::Shape x = call.shape(0);
    shape.in_plane = count_of({x.data + 2, x.rank - 2});
    shape.out_plane = shape.window.output_count();
    check_product(shape.features, std::max(shape.out_plane, shape.in_plane), shape.depth(),
                  label());
    dispatch<FloatTypes>(
        dtype, [&](auto type) { compute<typename decltype(type)::type>(call, shape, output); });
  }

 private:
  /// Checks the inputs; the planes are left to the caller, who first checks that the output can be
  /// counted.
  [[nodiscard]] ConvShape resolve(sdk::Call& call) const {
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
    if (w[0] % groups_ != 0 || x[1] % groups_ != 0 || x[1] / groups_ != w[1]) {
      fail("input 0 has " + std::to_string(x[1]) + " channels, but weights of shape " +
           to_string(w) + " in " + std::to_string(groups_) + " groups need " +
           std::to_string(w[1]) + " for each group");
    }
    if (call.input(1).dtype != call.input(0).dtype) fail("the inputs must have one element type");
    if (call.has_input(2) && (call.shape(2).rank != 1 || call.shape(2)[0] != w[0])) {
      fail("the bias has shape " + to_string(call.shape(2)) + ", needs [" + std::to_string(w[0]) +
           "]");
    }
    ConvShape shape = {};
    shape.batch = x[0];
    shape.groups = groups_;
    shape.channels = w[1];
    shape.features = w[0] / groups_;
    shape.window = Window::sliding(attributes_, x, w.data + 2, label());
    return shape;
  }

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

  WindowAttributes attributes_;
  int64_t groups_;
};

constexpr sdk::KernelRow kConvRows[] = {
    {"Conv", 1, sdk::kLatest, sdk::kFloats, sdk::make<Conv>, {.unaligned_inputs = 2}},
};

}  // namespace

sdk::KernelTable conv_kernels() { return sdk::table(kConvRows); }

}  // namespace gantry::cpu

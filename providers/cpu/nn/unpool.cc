// SPDX-License-Identifier: Apache-2.0
// Col2Im and MaxUnpool.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "convert.h"
#include "dispatch.h"
#include "elements.h"
#include "families.h"
#include "nn/window.h"
#include "node_kernel.h"
#include "simd/index_math.h"

namespace gantry::cpu {
namespace {

/// Col2Im: each pixel is the sum of the column elements that map to it; 16-bit floats are summed in
/// f32. For strings at most one element may map to a pixel; without one the pixel is "".
class Col2Im final : public NodeKernel {
 public:
  explicit Col2Im(const sdk::NodeView& node) : NodeKernel(node), attributes_(node) {}

  void run(sdk::Call& call) const override {
    require_rank(call, 0, 3);
    const sdk::Shape x = call.shape(0);
    const Dims image = read_ints(call, 1);
    const Dims block = read_ints(call, 2);
    if (image.rank() < 1 || image.rank() != block.rank()) {
      fail("the image has " + std::to_string(image.rank()) + " axes and the block " +
           std::to_string(block.rank()) + "; they must be equal, and at least 1");
    }
    Dims shape;
    shape.push(x[0]);
    shape.push(1);
    for (int i = 0; i < image.rank(); ++i) shape.push(image[i]);
    for (int i = 0; i < block.rank(); ++i) {
      if (block[i] < 1 || image[i] < 0) fail("the image and the block must have positive extents");
    }
    const Window window = Window::sliding(attributes_, shape.shape(), block.data(), label());
    const int64_t taps = checked_count(block.data(), block.rank(), label());
    if (x[1] % taps != 0 || x[2] != window.output_count()) {
      fail("columns of shape " + to_string(x) + " do not fit blocks of shape " +
           to_string(block.shape()) + ", of which the image " + to_string(image.shape()) + " has " +
           std::to_string(window.output_count()));
    }
    shape[1] = x[1] / taps;
    if (call.input(0).dtype == GANTRY_STRING) return place_strings(call, window, shape.shape());
    gantry_tensor& output = call.output(0, call.input(0).dtype, shape.shape());
    if (count_of(shape.shape()) == 0) return;
    dispatch<Concat<NumberTypes, ComplexTypes, TypeList<Boolean>>>(
        call.input(0).dtype, [&](auto type) {
          compute<typename decltype(type)::type>(call, window, shape.shape(), output);
        });
  }

 private:
  template <class T>
  void compute(sdk::Call& call, const Window& window, sdk::Shape shape,
               gantry_tensor& output) const {
    using C = Compute<T>;
    const T* x = call.data<T>(0);
    C* y = wide_output<T>(call, output);
    const int64_t plane = shape.count(2, shape.rank);
    const int64_t columns = window.kernel_count() * window.output_count();
    call.parallel_for(shape[0] * shape[1], 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::fill_n(y + i * plane, plane, C{});
        visit_columns(window, x + i * columns, y + i * plane, [](C& sum, const T& element) {
          sum = static_cast<C>(sum + static_cast<C>(element));
        });
      }
    });
    narrow<T>(call, y, output);
  }

  void place_strings(sdk::Call& call, const Window& window, sdk::Shape shape) const {
    const int64_t count = count_of(shape);
    UnitWriter output(call, 0, GANTRY_STRING, shape);
    auto* y = output.as<gantry_str>();
    std::fill_n(y, count, gantry_str{});
    const auto* x = reinterpret_cast<const gantry_str*>(read_units(call, 0));
    const int64_t columns = window.kernel_count() * window.output_count();
    const int64_t planes = count == 0 ? 0 : shape[0] * shape[1];
    bool is_free = true;
    for (int64_t i = 0; i < planes; ++i) {
      visit_columns(window, x + i * columns, y + i * shape.count(2, shape.rank),
                    [&](gantry_str& pixel, gantry_str text) {
                      is_free = is_free && (pixel.length == 0 || text.length == 0);
                      if (text.length > 0) pixel = text;
                    });
    }
    if (!is_free) fail("two strings fall on one pixel of the image, and strings have no sum");
    output.finish();
  }

  /// Calls visit(y[pixel], x[element]) for the elements of a plane of columns, [taps, windows].
  template <class T, class C, class Visit>
  static void visit_columns(const Window& window, const T* x, C* y, Visit&& visit) {
    const int rank = window.rank();
    const WindowAxis& inner = window[rank - 1];
    int64_t kernels[kMaxWindowAxes];
    int64_t outputs[kMaxWindowAxes];
    for (int i = 0; i < rank; ++i) {
      kernels[i] = window[i].kernel;
      outputs[i] = window[i].output;
    }
    const int64_t taps = window.kernel_count();
    const int64_t lines = window.output_count(0, rank - 1);
    Odometer tap(kernels, rank);
    for (int64_t t = 0; t < taps; ++t, tap.next()) {
      Odometer line(outputs, rank - 1);
      const int64_t first = inner.first_window(tap[rank - 1]);
      const int64_t last = inner.end_window(tap[rank - 1]);
      for (int64_t l = 0; l < lines; ++l, line.next(), x += inner.output) {
        int64_t offset = 0;
        bool is_inside = true;
        for (int i = 0; i < rank - 1; ++i) {
          const int64_t at = window[i].start(line[i]) + tap[i] * window[i].dilation;
          is_inside = is_inside && at >= 0 && at < window[i].input;
          offset = offset * window[i].input + at;
        }
        if (!is_inside) continue;
        C* target = y + offset * inner.input + tap[rank - 1] * inner.dilation - inner.pad_begin;
        for (int64_t o = first; o < last; ++o) visit(target[o * inner.stride], x[o]);
      }
    }
  }

  WindowAttributes attributes_;
};

/// MaxUnpool: writes every element to the position at which MaxPool found it.
class MaxUnpool final : public NodeKernel {
 public:
  explicit MaxUnpool(const sdk::NodeView& node) : NodeKernel(node), attributes_(node) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    if (call.shape(1) != x)
      fail("the indices have shape " + to_string(call.shape(1)) + ", needs " + to_string(x));
    const Dims pooled = pooled_shape(x);
    Dims shape = pooled;
    if (call.has_input(2)) {
      shape = read_ints(call, 2);
      if (shape.rank() != x.rank)
        fail("output_shape must have " + std::to_string(x.rank) + " numbers");
    }
    const uint32_t dtype = call.input(0).dtype;
    gantry_tensor& output = call.output(0, dtype, shape.shape());
    const auto* indices = call.data<int64_t>(1);
    const Dims strides = dense_strides(shape.shape());
    dispatch_unit(dtype, [&](auto type) {
      using U = typename decltype(type)::type;
      const auto* source = static_cast<const U*>(call.input(0).data);
      auto* target = static_cast<U*>(output.data);
      const int64_t count = x.element_count();
      if (pooled.shape() == shape.shape())
        return place_all(source, indices, count, target, shape.shape());
      const auto pooled_places = static_cast<uint64_t>(count_of(pooled.shape()));
      std::fill_n(target, count_of(shape.shape()), U{});
      for (int64_t i = 0; i < count; ++i) {
        int64_t index = indices[i];
        if (static_cast<uint64_t>(index) >= pooled_places) fail_index(index, pooled.shape());
        // Indices refer to the shape that the attributes imply; a given output shape extends it.
        int64_t pixel = 0;
        for (int axis = x.rank - 1; axis >= 0; --axis) {
          const int64_t at = index % pooled[axis];
          index /= pooled[axis];
          if (at >= shape[axis]) fail_index(indices[i], shape.shape());
          pixel += at * strides[axis];
        }
        target[pixel] = source[i];
      }
    });
  }

 private:
  /// Indices of a block.
  static constexpr int64_t kTogether = 2048;

  /// Zeros are written just ahead of the elements: indices mostly grow, so the pixel of an element
  /// is still in the cache.
  template <class U>
  void place_all(const U* source, const int64_t* indices, int64_t count, U* target,
                 sdk::Shape shape) const {
    const int64_t pixels = count_of(shape);
    int64_t zeroed = 0;
    const auto zero_up_to = [&](int64_t end) {
      if (end > zeroed) std::fill(target + zeroed, target + end, U{});
      zeroed = std::max(zeroed, end);
    };
    for (int64_t i = 0; i < count; i += kTogether) {
      const int64_t end = std::min(i + kTogether, count);
      zero_up_to(last_of(indices + i, end - i, shape) + 1);
      for (int64_t k = i; k < end; ++k) target[indices[k]] = source[k];
    }
    zero_up_to(pixels);
  }
  /// The greatest of `count` >= 1 indices. Throws if an index is out of range.
  [[nodiscard]] int64_t last_of(const int64_t* indices, int64_t count, sdk::Shape shape) const {
    const auto pixels = static_cast<uint64_t>(count_of(shape));
    const uint64_t last = simd::greatest_index(indices, count);
    for (int64_t i = 0; last >= pixels && i < count; ++i) {
      if (static_cast<uint64_t>(indices[i]) >= pixels) fail_index(indices[i], shape);
    }
    return static_cast<int64_t>(last);
  }
  [[noreturn]] void fail_index(int64_t index, sdk::Shape shape) const {
    fail("index " + std::to_string(index) + " is outside an output of shape " + to_string(shape));
  }

  [[nodiscard]] Dims pooled_shape(sdk::Shape x) const {
    const Window window = Window::sized(attributes_, x, kernel(x), label());
    Dims shape;
    shape.push(x[0]);
    shape.push(x[1]);
    for (int i = 0; i < window.rank(); ++i) {
      const WindowAxis& axis = window[i];
      const int64_t extent =
          (axis.input - 1) * axis.stride + axis.kernel - axis.pad_begin - axis.pad_end;
      if (extent < 0) fail("the pads leave nothing of axis " + std::to_string(i + 2));
      shape.push(extent);
    }
    return shape;
  }
  [[nodiscard]] const int64_t* kernel(sdk::Shape x) const {
    if (static_cast<int>(attributes_.kernel.size()) != x.rank - 2) {
      fail("attribute kernel_shape has " + std::to_string(attributes_.kernel.size()) +
           " numbers, expected one for each spatial axis of " + to_string(x));
    }
    return attributes_.kernel.data();
  }

  WindowAttributes attributes_;
};

constexpr sdk::DTypeSet kOfImages = sdk::kNumbers | sdk::kComplex | sdk::kBool | sdk::kString;

constexpr sdk::KernelRow kUnpoolRows[] = {
    {"Col2Im", 18, sdk::kLatest, kOfImages, sdk::make<Col2Im>, {.signature_inputs = 6}},
    {"MaxUnpool", 9, sdk::kLatest, sdk::kFloats, sdk::make<MaxUnpool>, {.signature_inputs = 4}},
};

}  // namespace

sdk::KernelTable unpool_kernels() { return sdk::table(kUnpoolRows); }

}  // namespace gantry::cpu

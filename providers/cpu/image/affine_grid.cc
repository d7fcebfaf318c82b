// SPDX-License-Identifier: Apache-2.0
// AffineGrid (opset 20): applies an affine map to the points of a regular 2-D or 3-D grid.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

/// Least number of points for a thread.
constexpr int64_t kAffineGridGrain = 8192;

class AffineGrid final : public NodeKernel {
 public:
  explicit AffineGrid(const sdk::NodeView& node)
      : NodeKernel(node), aligns_corners_(node.get_int("align_corners", 0) != 0) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape theta = call.shape(0);
    const Dims size = read_ints(call, 1);
    const int axes = size.rank() - 2;
    if ((axes != 2 && axes != 3) || theta.rank != 3 || theta[0] != size[0] || theta[1] != axes ||
        theta[2] != axes + 1) {
      fail("matrices of shape " + to_string(theta) + " do not fit a size of " +
           to_string(size.shape()) +
           "; expected [N, 2, 3] for N, C, H, W or [N, 3, 4] for "
           "N, C, D, H, W");
    }
    Dims shape;
    shape.push(size[0]);
    for (int i = 0; i < axes; ++i) shape.push(size[2 + i]);
    shape.push(axes);
    const int64_t count = count_of(shape.shape());
    gantry_tensor& output = call.output(0, call.input(0).dtype, shape.shape());
    if (count == 0) return;
    dispatch<FloatTypes>(call.input(0).dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      auto* y = static_cast<T*>(output.data);
      axes == 2 ? map_rows<2>(call, shape, call.data<T>(0), y)
                : map_rows<3>(call, shape, call.data<T>(0), y);
    });
  }

 private:
  /// Coordinate of point i of `count` points in [-1, 1].
  template <class C>
  [[nodiscard]] C coordinate(int64_t i, int64_t count) const {
    if (!aligns_corners_) return static_cast<C>(2 * i + 1) / static_cast<C>(count) - C{1};
    return count > 1 ? static_cast<C>(2 * i) / static_cast<C>(count - 1) - C{1} : C{-1};
  }

  /// `shape`: [N, (D,) H, W, axes]. A row is the points along W.
  template <int kAxes, class T>
  void map_rows(sdk::Call& call, const Dims& shape, const T* theta, T* y) const {
    using C = Compute<T>;
    const int64_t width = shape[kAxes];
    const int64_t rows = shape.shape().count(0, kAxes);
    auto* across = call.scratch<C>(width);
    for (int64_t i = 0; i < width; ++i) across[i] = coordinate<C>(i, width);
    call.parallel_for(
        rows, std::max<int64_t>(1, kAffineGridGrain / width), [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            // The matrix is applied to (x, y, z, 1), x along W; all but x are the same in a row.
            int64_t index = row;
            C rest[kAxes] = {};
            for (int axis = kAxes - 1; axis >= 1; --axis) {
              rest[kAxes - axis] = coordinate<C>(index % shape[axis], shape[axis]);
              index /= shape[axis];
            }
            C slope[kAxes];
            C offset[kAxes];
            for (int k = 0; k < kAxes; ++k) {
              const T* line = theta + (index * kAxes + k) * (kAxes + 1);
              slope[k] = static_cast<C>(line[0]);
              offset[k] = static_cast<C>(line[kAxes]);
              for (int axis = 1; axis < kAxes; ++axis)
                offset[k] += static_cast<C>(line[axis]) * rest[axis];
            }
            T* target = y + row * width * kAxes;
            for (int64_t i = 0; i < width; ++i) {
              for (int k = 0; k < kAxes; ++k)
                target[i * kAxes + k] = static_cast<T>(slope[k] * across[i] + offset[k]);
            }
          }
        });
  }

  bool aligns_corners_;
};

constexpr sdk::KernelRow kAffineGridRows[] = {
    {"AffineGrid", 20, sdk::kLatest, sdk::kFloats, sdk::make<AffineGrid>, {.signature_inputs = 2}},
};

}  // namespace

sdk::KernelTable affine_grid_kernels() { return sdk::table(kAffineGridRows); }

}  // namespace gantry::cpu

// SPDX-License-Identifier: Apache-2.0
// Operators that read only the shape of their input: Shape, Size.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>

#include "dims.h"
#include "families.h"

namespace gantry::cpu {

namespace {

class ShapeKernel final : public sdk::Kernel {
 public:
  explicit ShapeKernel(const sdk::NodeView& node)
      : start_(node.get_int("start", 0)), end_(node.get_int("end", INT64_MAX)) {}
  void run(sdk::Call& call) const override {
    const sdk::Shape shape = call.shape(0);
    const int64_t start = clamped(start_, shape.rank);
    const int64_t count = std::max<int64_t>(0, clamped(end_, shape.rank) - start);
    auto* output = static_cast<int64_t*>(call.output(0, GANTRY_INT64, {count}).data);
    std::copy_n(shape.data + start, count, output);
  }

 private:
  static int64_t clamped(int64_t axis, int rank) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  }

  int64_t start_;
  int64_t end_;
};

class SizeKernel final : public sdk::Kernel {
 public:
  explicit SizeKernel(const sdk::NodeView&) {}
  void run(sdk::Call& call) const override {
    *static_cast<int64_t*>(call.output(0, GANTRY_INT64, {}).data) = call.shape(0).element_count();
  }
};

constexpr sdk::Marks kShapeOnly = {.shape_only_inputs = 1};

constexpr sdk::KernelRow kShapeRows[] = {
    {"Shape", 1, sdk::kLatest, sdk::kAllTypes, sdk::make<ShapeKernel>, kShapeOnly},
    {"Size", 1, sdk::kLatest, sdk::kAllTypes, sdk::make<SizeKernel>, kShapeOnly},
};

}  // namespace

sdk::KernelTable shape_kernels() { return sdk::table(kShapeRows); }

}  // namespace gantry::cpu

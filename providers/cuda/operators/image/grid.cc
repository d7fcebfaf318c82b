// SPDX-License-Identifier: Apache-2.0
// Sampling of images at the points of a grid: GridSample, AffineGrid.
#include "kernels/image/grid.h"

#include <algorithm>

#include "compile/kernel_texts.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

constexpr size_t kMostPositions = 3;  // limit of spatial axes

int taps_of(const std::string& mode) {
  if (mode == "nearest") return 1;
  if (mode == "linear" || mode == "bilinear") return 2;
  return mode == "cubic" || mode == "bicubic" ? 4 : 0;
}

// Index of the name in the kernel's enumeration; -1: unknown.
int padding_of(const std::string& mode) {
  return mode == "zeros" ? 0 : mode == "border" ? 1 : mode == "reflection" ? 2 : -1;
}

std::string define(const char* name, int64_t value) {
  return std::string("#define ") + name + " " + std::to_string(value) + "\n";
}

class GridSample final : public Operation {
 public:
  explicit GridSample(const NodeView& node)
      : taps_(taps_of(node.get_string("mode", "linear"))),
        padding_(padding_of(node.get_string("padding_mode", "zeros"))),
        aligns_corners_(node.get_int("align_corners", 0) != 0) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const Extents& grid = planner.shape(1);
    const size_t axes = x.shape.size() - 2;
    if (x.rank() < 3 || axes > kMostPositions || grid.size() != x.shape.size() ||
        grid[0] != x.shape[0] || grid.back() != static_cast<int64_t>(axes)) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "a grid of the shape " + text_of(grid) +
                                                    " does not fit data of " + text_of(x.shape) +
                                                    ", of which one to three axes are sampled");
    }
    GridSampleParameters p = {};
    p.channels = x.shape[1];
    p.plane = count_of(x.shape, 2, x.shape.size());
    std::copy(x.shape.begin() + 2, x.shape.end(), p.in);
    Extents shape = {x.shape[0], x.shape[1]};
    shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
    const Buffer y = planner.output(0, x.dtype, shape);
    const int64_t results = count_of(shape);
    if (results == 0) return;
    if (p.plane == 0)
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the data have no elements to sample");
    const int64_t points = count_of(grid, 1, grid.size() - 1);
    // Interpolation weights are computed once for several channels if there are enough threads.
    p.each = std::clamp<int64_t>(results / (int64_t{kThreadsEach} * planner.multiprocessors), 1,
                                 std::min<int64_t>(p.channels, kMostChannels));
    const int64_t groups = (p.channels + p.each - 1) / p.each;
    p.points = divisor_of(points);
    p.groups = divisor_of(groups);
    p.count = x.shape[0] * groups * points;
    planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "grid.h"},
                                 body(planner, p.count, axes)),
                   blocks_for(planner, p.count), kThreads, p,
                   {{&p.result, y}, {&p.source, Planner::in(0)}, {&p.grid, Planner::in(1)}});
  }

 private:
  static constexpr int kThreadsEach = 2048;  // resident threads per multiprocessor
  static constexpr int64_t kMostChannels = 8;

  [[nodiscard]] std::string body(const Planner& planner, int64_t count, size_t axes) const {
    const uint32_t dtype = planner.input(0).dtype;
    const uint32_t grid = planner.input(1).dtype;
    const bool is_float = (sdk::dtype_bit(dtype) & sdk::kFloats) != 0;
    const bool is_wide = taps_ > 1 && (!is_float || dtype == GANTRY_DOUBLE);
    const bool is_integer = (sdk::dtype_bit(dtype) & sdk::kIntegers) != 0;
    return std::string("\ntypedef ") + index_type(count < int64_t{1} << 31) + " Index;\ntypedef " +
           type_name(dtype) + " T;\ntypedef " + type_name(grid) + " G;\ntypedef " +
           (is_wide ? "double" : computed_name(grid)) + " C;\n" +
           define("RANK", static_cast<int64_t>(axes)) + define("TAPS", taps_) +
           define("PADDING", padding_) + define("ALIGNS_CORNERS", aligns_corners_ ? 1 : 0) +
           define("IS_INTEGER", is_integer ? 1 : 0) + std::string(kernel_text("grid_sample.cu"));
  }

  int taps_;
  int padding_;
  bool aligns_corners_;
};

class AffineGrid final : public Operation {
 public:
  explicit AffineGrid(const NodeView& node)
      : aligns_corners_(node.get_int("align_corners", 0) != 0) {}

  void plan(Planner& planner) const override {
    const InputMetadata& matrices = planner.input(0);
    const Extents size = planner.host_integers(1);
    const auto axes = static_cast<int64_t>(size.size()) - 2;
    if ((axes != 2 && axes != 3) || matrices.shape != Extents{size[0], axes, axes + 1}) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "matrices of the shape " + text_of(matrices.shape) +
                           " do not fit a size of " + text_of(size) +
                           ", expected [N, 2, 3] for N, C, H, W or [N, 3, 4] for N, C, D, H, W");
    }
    Extents shape = {size[0]};
    shape.insert(shape.end(), size.begin() + 2, size.end());
    shape.push_back(axes);
    const Buffer y = planner.output(0, matrices.dtype, shape);
    AffineGridParameters p = {};
    p.count = count_of(shape);
    if (p.count == 0) return;
    p.extents[0] = divisor_of(axes == 3 ? size[2] : 1);
    p.extents[1] = divisor_of(size[size.size() - 2]);
    p.extents[2] = divisor_of(size.back());
    const std::string body = std::string("\ntypedef ") + index_type(p.count < int64_t{1} << 31) +
                             " Index;\ntypedef " + type_name(matrices.dtype) + " T;\ntypedef " +
                             computed_name(matrices.dtype) + " C;\n" + define("AXES", axes) +
                             define("ALIGNS_CORNERS", aligns_corners_ ? 1 : 0) +
                             std::string(kernel_text("affine_grid.cu"));
    planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "grid.h"}, body),
                   blocks_for(planner, p.count), kThreads, p,
                   {{&p.result, y}, {&p.matrices, Planner::in(0)}});
  }

 private:
  bool aligns_corners_;
};

std::string is_sampled(const NodeView& node) {
  const std::string mode = node.get_string("mode", "linear");
  const std::string padding = node.get_string("padding_mode", "zeros");
  if (taps_of(mode) == 0) return "the mode " + mode + " is not known";
  if (padding_of(padding) < 0) return "the padding mode " + padding + " is not known";
  if (!(sdk::dtype_bit(node.input(1).dtype()) & sdk::kFloats))
    return "the type of the grid is not known";
  if (node.input(0).rank() > static_cast<int>(kMostPositions) + 2)
    return "more than three sampled axes are not supported";
  return "";
}

constexpr sdk::KernelRow kRows[] = {
    {"AffineGrid", 20, sdk::kLatest, sdk::kFloats, make<AffineGrid, 2>, host_marks(2)},
    {"GridSample", 16, sdk::kLatest, kComputed, make<GridSample>, {}, is_sampled},
};

}  // namespace

sdk::KernelTable grid_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda

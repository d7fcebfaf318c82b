// SPDX-License-Identifier: Apache-2.0
// MeanVarianceNormalization: over any axes.
#include "kernels/nn/mean_variance.h"

#include <algorithm>

#include "compile/kernel_texts.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

constexpr double kEpsilon = 1e-9;  // as in the operator's function body

class MeanVariance final : public Operation {
 public:
  explicit MeanVariance(const NodeView& node) : axes_(node.get_ints("axes", {0, 2, 3})) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const Buffer y = planner.output(0, x.dtype, x.shape);
    std::vector<bool> is_reduced(x.shape.size(), false);
    for (const int64_t axis : axes_)
      is_reduced[static_cast<size_t>(checked_axis(axis, x.rank(), "an axis"))] = true;
    if (x.element_count() == 0) return;
    const Extents strides = dense_strides(x.shape);
    Walk rows{{}, {{}}};
    Walk elements{{}, {{}}};
    for (size_t axis = 0; axis < x.shape.size(); ++axis) {
      Walk& walk = is_reduced[axis] ? elements : rows;
      walk.extents.push_back(x.shape[axis]);
      walk.strides[0].push_back(strides[axis]);
    }
    rows.simplify();
    elements.simplify();
    MeanVarianceParameters p = {};
    p.rows = rows.count();
    p.length = elements.count();
    p.epsilon = kEpsilon;
    rows.write_extents(p.row_extents);
    rows.write_strides(0, p.row_strides);
    elements.write_extents(p.extents);
    elements.write_strides(0, p.strides);
    launch(planner, p, rows, elements, y);
  }

 private:
  static void launch(Planner& planner, const MeanVarianceParameters& p, const Walk& rows,
                     const Walk& elements, const Buffer& y) {
    const uint32_t dtype = planner.input(0).dtype;
    // If adjacent rows are contiguous and elements of a row are not, a block takes several rows.
    const bool is_across = rows.strides[0].back() == 1 && rows.extents.back() >= kColumns;
    const int64_t at_once = is_across ? kColumns : 1;
    const std::string body =
        std::string("\ntypedef ") + index_type(rows.is_small() && elements.is_small()) +
        " Index;\ntypedef " + type_name(dtype) + " T;\ntypedef " + computed_name(dtype) +
        " C;\n#define ROW_RANK " + std::to_string(rows.rank()) + "\n#define RANK " +
        std::to_string(elements.rank()) + "\n" +
        (is_across ? "#define COLUMNS " + std::to_string(kColumns) + "\n" : "") +
        std::string(kernel_text("row_share.cu")) + std::string(kernel_text("mean_variance.cu"));
    planner.launch(
        kernel_source({"index.h", "index.cu", "mean_variance.h", "block_reduce.cu"}, body),
        std::min<int64_t>((p.rows + at_once - 1) / at_once, int64_t{1} << 20),
        is_across ? threads_for_columns(p.length) : threads_for_row(p.length), p,
        {{&p.result, y}, {&p.source, Planner::in(0)}});
  }

  Extents axes_;
};

constexpr sdk::KernelRow kRows[] = {
    {"MeanVarianceNormalization", 9, sdk::kLatest, sdk::kFloats, make<MeanVariance>},
};

}  // namespace

sdk::KernelTable mean_variance_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
